import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { runCommand } from '../../scripts/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { runPunctual } from './run-punctual.ts';

// The scripts for zsh and fish are tried by hand: CI does not have these shells.

const lines: readonly (readonly [typed: string, found: readonly string[]])[] = [
  ['punctual wh', ['whoami']],
  ['punctual post c', ['cancel', 'copy', 'create']],
  ['punctual post list --st', ['--status']],
  ['punctual post list --status dr', ['draft']],
  ['punctual analytics ', ['channels', 'posts']],
  ['punctual nothing ', []],
];

test('bash completes commands, flags and their values', async (t) => {
  const folder = await temporaryFolder(t);
  const main = path.join(import.meta.dirname, '../../cli/main.ts');
  const program = path.join(folder, 'punctual');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(program, 0o755);
  const script = path.join(folder, 'script');
  await writeFile(script, (await runPunctual(['completion', 'bash'])).stdout);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
  for (const [typed, found] of lines) {
    const words = typed.split(' ');
    const typing = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
    const code = `source '${script}'; ${typing}; _punctual; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await runCommand('bash', ['--norc', '-c', code], { env });
    t.deepEqual(stdout.split('\n').filter(Boolean).toSorted(), [...found], typed);
  }
});
