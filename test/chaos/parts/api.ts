import { runApi } from '../../../api/run-api.ts';
import { fallIntoTrap } from './traps.ts';

// An API as operators start it, but for this: when the run wants it to, it kills itself between the commit of a post
// and telling Temporal of it.

const folder = process.env['CHAOS_FOLDER'] ?? '';

await runApi((deps) => ({
  ...deps,
  syncPost: (post) => {
    fallIntoTrap(folder, 'API killed after the commit');
    deps.syncPost(post);
  },
}));
process.exit(0);
