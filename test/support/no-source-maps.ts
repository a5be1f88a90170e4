// ava turns source maps on. Node runs our files as they are, so it would read the maps of all dependencies for nothing:
// a sixth of the time that a test file takes to load.
process.setSourceMapsEnabled(false);
