import { runApi } from '../../../api/run-api.ts';
import { fallIntoTrap } from './traps.ts';

// An API as operators start it, except that it kills itself between a post's commit and the notify when the run asks
// for it.

const folder = process.env['CHAOS_FOLDER'] ?? '';

await runApi((deps) => ({
  ...deps,
  syncPost: (post) => {
    fallIntoTrap(folder, 'API killed after the commit');
    deps.syncPost(post);
  },
}));
process.exit(0);
