import test from 'ava';
import { tallyCounter, tallyLine } from '../support/tally.ts';

const output = [
  '',
  '  ✔ api › posts › a post is stored (1.2s)',
  '    ℹ ✔ a note of that test',
  '  \u001B[31m✘\u001B[39m [fail]: api › posts › a post is read',
  '  - [skip] networks › a post is live [no pds: not built]',
  '  - [todo] networks › a video is live',
  '  ✘ test/worker.test.ts exited due to SIGKILL',
  'said by a process, not by ava: ✔ fine',
  '  ─',
].join('\n');

function tallyOf(text: string, exitCode: number, skipsFail = false): string {
  const counter = tallyCounter();
  for (const piece of text.match(/[\s\S]{1,7}/gv) ?? []) {
    counter.add(piece);
  }
  return tallyLine(counter.result(exitCode, skipsFail));
}

test('tests are counted as ava shows them, with its output split at any place', (t) => {
  t.is(tallyOf(output, 1), '1 passed, 2 failed, 2 skipped');
});

test('skipped tests count as failed where skips are not allowed', (t) => {
  t.is(tallyOf('  ✔ one\n  - [skip] two\n', 0, true), '1 passed, 1 failed');
});

test('a run without failures and skips does not mention skips', (t) => {
  t.is(tallyOf('  ✔ one\n  ✔ two\n', 0), '2 passed, 0 failed');
});

test('a run that ava did not finish has a failure, even if no test failed', (t) => {
  t.is(tallyOf('  ✔ one\n', 1), '1 passed, 1 failed');
});

test('a run without any test is a failure', (t) => {
  t.is(tallyOf('', 0), '0 passed, 1 failed');
});
