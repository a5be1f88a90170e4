import { createRequire, registerHooks } from 'node:module';
import type twitterText from 'twitter-text';

// `twitter-text` loads the polyfills of `core-js` 2. They replace built-in functions, after which V8 gives up its fast
// paths for regular expressions and array iteration in the whole process. Node has all of these functions itself.

const hooks = registerHooks({
  load: (url, context, nextLoad) =>
    url.includes('/core-js/')
      ? { format: 'commonjs', source: '', shortCircuit: true }
      : nextLoad(url, context),
});

/** X's own library, without its polyfills. */
const library = createRequire(import.meta.url)('twitter-text') as typeof twitterText;
hooks.deregister();

export default library;
