import test from 'ava';
import { checkFiles } from './check/files.ts';
import { evidenceOf, found } from './check/good-evidence.ts';
import type { Evidence } from './check/evidence.ts';
import { altTextOf } from './parts/upload-files.ts';
import type { PlannedFile } from './plan/post-plan.ts';

const pictures = ['picture 1', 'picture 2'] as const;
const listed = pictures.map((name) => ({ kind: 'picture' as const, altText: altTextOf(name) }));

/** A thread of two parts whose second part should have two pictures. */
function withPictures(onSecond: typeof listed, onFirst: typeof listed = []): Evidence {
  const parts = [found(1, { files: onFirst }), found(2, { files: onSecond })];
  const evidence = evidenceOf({ found: parts });
  const files: PlannedFile[] = pictures.map((name) => ({ name, part: 2 }));
  const histories = evidence.histories.map((history) => ({
    ...history,
    plan: { ...history.plan, files },
  }));
  return { ...evidence, histories };
}

const invariantsOf = (evidence: Evidence): string[] =>
  checkFiles(evidence).map(({ invariant }) => invariant);

test('the chaos suite detects files that are missing, repeated, in another order, or on another part', (t) => {
  const [first, second] = listed;
  const wrong = [
    withPictures([]),
    withPictures(listed.slice(0, 1)),
    withPictures([...listed, ...listed.slice(1)]),
    withPictures(first && second ? [second, first] : []),
    withPictures(listed, listed),
    withPictures(listed.map((file) => ({ ...file, altText: '' }))),
  ];
  t.deepEqual(invariantsOf(withPictures(listed)), []);
  for (const evidence of wrong) {
    t.deepEqual(invariantsOf(evidence), ['files missing, or too many']);
  }
});
