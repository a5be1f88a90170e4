import { spawn } from 'node:child_process';
import path from 'node:path';

/**
 * Runs a command and shows the elapsed time. Returns the output, which the caller shows when the command failed.
 *
 * node_modules/.bin comes first in PATH, so that npm itself runs on the pinned Node once it is installed.
 *
 * @param {string} root
 * @param {string} title shown to the user
 * @param {string[]} command
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export async function run(root, title, command, options = {}) {
  const startedMs = Date.now();
  const seconds = () => Math.round((Date.now() - startedMs) / 1000);
  const show = process.stdout.isTTY
    ? (text) => process.stdout.write(`\r\u001B[K${text}`)
    : () => undefined;
  const ticker = setInterval(() => show(`${title} ... ${seconds()} s`), 1000);
  if (process.stdout.isTTY) {
    show(`${title} ...`);
  } else {
    console.log(`${title} ...`);
  }

  const { ok, output } = await runQuietly(root, command, options);
  clearInterval(ticker);
  show('');
  console.log(`${title}: ${ok ? 'done' : 'failed'}, ${seconds()} s`);
  return { ok, output };
}

/**
 * Like `run`, without output.
 *
 * @param {string} root
 * @param {string[]} command
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export async function runQuietly(root, [file, ...args], { cwd = root, env = {} } = {}) {
  const child = spawn(file, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    // On Windows npm is a .cmd file, which only a shell can start.
    shell: process.platform === 'win32',
    env: {
      ...process.env,
      npm_config_loglevel: 'error',
      npm_config_fund: 'false',
      npm_config_audit: 'false',
      ...env,
      PATH: `${path.join(root, 'node_modules', '.bin')}${path.delimiter}${process.env.PATH}`,
    },
  });
  let output = '';
  const keep = (chunk) => {
    output += chunk;
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);

  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}
