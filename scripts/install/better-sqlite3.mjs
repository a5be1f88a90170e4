import path from 'node:path';
import { pinnedNodeHeaders } from './pinned-node.mjs';
import { run, runQuietly } from './run.mjs';

const probe = "new (require('better-sqlite3'))(':memory:').prepare('select 1').get()";

/**
 * Makes better-sqlite3 work under the pinned Node. Only the Bluesky server of the tests needs it, so a
 * machine without a compiler loses those tests and nothing else.
 *
 * @param {string} root
 * @returns {Promise<boolean>} whether it works now
 */
export async function compileSqlite(root) {
  const works = () => runQuietly(root, ['node', '-e', probe]);
  if ((await works()).ok) {
    return true;
  }

  // A user's own `nodedir` would bring the headers of another Node, and a program that does not load.
  const headers = pinnedNodeHeaders(root);
  const env = headers ? { npm_config_nodedir: headers } : {};
  const title = 'Compiling better-sqlite3 (about a minute, once)';
  const { output } = await run(root, title, ['npm', 'rebuild', 'better-sqlite3'], { env });
  const check = await works();
  if (!check.ok) {
    const lastLines = `${output}\n${check.output}`.trim().split('\n').slice(-15).join('\n');
    console.error(
      `${lastLines}\n\nbetter-sqlite3 could not be compiled; it takes python3, make and a C++ compiler.\n` +
        `Tests against a Bluesky server will be skipped. Details: run "npm rebuild better-sqlite3" in ${path.resolve(root)}.`,
    );
  }
  return check.ok;
}
