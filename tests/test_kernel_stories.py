"""The attention kernel in the situations in which kernels of the past went wrong, in Triton's interpreter."""

import kernel_setup  # noqa: F401
import pytest
from kernel_stories import STORIES
from pagesim_kernels import paged_attention


@pytest.mark.parametrize("story", STORIES)
def test_kernel_story(story):
    STORIES[story](paged_attention)
