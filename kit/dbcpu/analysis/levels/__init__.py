"""Each level against one session alone: how far apart sessions are, and what is chance."""
