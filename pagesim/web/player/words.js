// Numbers, names and times as a person reads them. Knows nothing about runs.

const NUMBER = new Intl.NumberFormat("en-US");

export function shownNumber(number) {
  return NUMBER.format(number);
}

// "1 block", "2 blocks", "1,000 blocks"
export function counted(number, noun) {
  return `${shownNumber(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// "once", "2 times"
export function times(number) {
  return number === 1 ? "once" : `${shownNumber(number)} times`;
}

// As Python rounds: what lies half way between two goes to the even one.
export function percent(part, whole) {
  const value = whole ? (100 * part) / whole : 0;
  return `${(value % 1 === 0.25 ? value - 0.05 : value).toFixed(1)} %`;
}

// To the microsecond, and below that to the nanosecond, as the sentences say it.
export function duration(timeNs) {
  const size = Math.abs(timeNs);
  if (size < 1e3) return timeNs ? `${timeNs} ns` : "0 s";
  const [value, unit] = size < 1e9 ? [timeNs / 1e6, "ms"] : [timeNs / 1e9, "s"];
  const digits = { minimumFractionDigits: 3, maximumFractionDigits: 3 };
  return `${value.toLocaleString("en-US", digits)} ${unit}`;
}

// Text from a log without what would turn lines about or hide: controls and format characters.
export function clean(text) {
  return String(text).slice(0, 300).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\uFFFD");
}

// The first position in a rising list whose value is more than `value`.
export function bisectRight(rising, value) {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

// The first position in a rising list whose value is not less than `value`.
export function bisectLeft(rising, value) {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}
