import test from 'ava';
import {
  cancelled,
  claimed,
  interrupted,
  signalled,
  type PostSchedule,
} from '../../domain/post-schedule.ts';

const at = (revision: number, dueAtMs: number): PostSchedule => ({ revision, dueAtMs });
const known = at(3, 500);

for (const [what, next, wanted] of [
  ['a later signal counts', signalled(known, at(4, 900)), at(4, 900)],
  ['an equal signal is ignored', signalled(known, at(3, 900)), known],
  ['a signal that is late is ignored', signalled(known, at(2, 900)), known],
  ['a cancel makes the workflow ask at once', cancelled(known, 4), at(4, 0)],
  ['a cancel that is late is ignored', cancelled(known, 3), known],
  ['a claim decides', claimed(known, known, at(5, 900)), at(5, 900)],
  ['a claim of a restored database decides', claimed(known, known, at(1, 900)), at(1, 900)],
  ['a signal during a claim is newer', claimed(at(4, 900), known, at(3, 500)), at(4, 900)],
  ['a claim after a signal that came during it', claimed(at(4, 900), known, at(5, 0)), at(5, 0)],
  ['an interrupted publishing is asked about at once', interrupted(known), at(3, 0)],
] as const) {
  test(`the schedule of a post: ${what}`, (t) => {
    t.deepEqual(next, wanted);
  });
}
