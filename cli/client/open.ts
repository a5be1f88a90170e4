import { spawn } from 'node:child_process';
import { command } from '../command.ts';

const programs: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

export const open = command({
  brief: 'Opens the reference of the API in a browser',
  run: async ({ access }) => {
    const url = `${(await access()).url}/docs`;
    const [program = '', ...args] = programs[process.platform] ?? ['xdg-open'];
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
    // Without a browser, the printed address is enough.
    child.on('error', () => undefined).unref();
    return { data: { url }, text: url };
  },
});
