import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import { fileOf } from '../networks/files.ts';
import { checkFiles } from './check/files.ts';
import { evidenceOf, found } from './check/good-evidence.ts';
import type { Evidence } from './check/evidence.ts';
import { partsInOne } from './networks/read-networks.ts';
import { dyingIn } from './parts/dying-upload.ts';
import { altTextOf } from './parts/upload-files.ts';
import { needsFile } from './plan/faults.ts';
import { makePlan } from './plan/make-plan.ts';
import { factsOf, platforms } from './plan/platforms.ts';
import type { PlannedFile } from './plan/post-plan.ts';
import { textsOf } from './plan/texts.ts';
import { countNetworks } from './report.ts';

const seeds = Array.from({ length: 20 }, (_, index) => index * 7919 + 1);
const posts = (count: number, seed: number) => {
  const plan = makePlan({ posts: count, seed, server: 'dev', minutes: undefined, keep: false });
  return plan.posts.map(({ files, faults, channels }) => {
    const networks = channels.map((channel) => plan.channels[channel]?.platform);
    return { files, faults, networks };
  });
};

test('each post has files that all of its networks accept: pictures or one video, which some networks require', (t) => {
  for (const { files, networks } of seeds.flatMap((seed) => posts(60, seed))) {
    const names = files.map(({ name }) => name);
    t.is(new Set(names).size, names.length);
    t.true(names.length <= 1 || !names.includes('video'));
    t.true(names.includes('video') || !networks.some((one) => one && factsOf(one).needsVideo));
  }
});

test('upload faults are planned only for parts with a file', (t) => {
  for (const { files, faults, networks } of [...posts(500, 3), ...posts(60, 4)]) {
    for (const { fault, part, platform } of faults.filter((each) => needsFile(each.fault))) {
      t.true(networks.includes(platform), fault);
      t.true(files.some((file) => file.part === part));
    }
  }
});

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

test('a thread in one post is read as parts, with all files on the first part', (t) => {
  const post = { id: '7', url: 'https://a.example/7', parentId: null, files: listed };
  const texts = textsOf('p1', 3, 1);
  const inOrder = partsInOne({ ...post, text: texts.join('\n\n') });
  t.deepEqual(
    inOrder.map(({ part, parentId, files }) => [part, parentId, files.length]),
    [
      [1, null, 2],
      [2, '7', 0],
      [3, '7', 0],
    ],
  );
  const turned = partsInOne({ ...post, text: texts.toReversed().join('\n\n') });
  t.true(turned.some(({ parentId }) => parentId === 'another'));
  t.deepEqual(partsInOne({ ...post, text: 'Somebody else' }), []);
});

test('a planned death comes when half of a file has been read, and the stream stays complete', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
  const left: number[] = [];
  let read = 0;
  const file = {
    ...fileOf(bytes, {}),
    open: async () =>
      Readable.from(
        (async function* () {
          for (let from = 0; from < bytes.length; from += 300) {
            yield bytes.subarray(from, from + 300);
          }
        })(),
      ),
  };
  const part = { key: 'k', text: '', media: [file], options: {}, data: null };
  const step = dyingIn({ parts: [part], sent: [] }, () => left.push(read));
  const stream = await step.parts[0]?.media[0]?.open();
  stream?.on('data', (chunk: Buffer) => (read += chunk.length));
  t.deepEqual(stream && (await buffer(stream)), bytes);
  t.deepEqual(left, [500]);
});

test('the report counts posts, files and faults for each network', (t) => {
  const [evidence, onMastodon] = [
    withPictures(listed),
    { id: 'f1', platform: 'mastodon' as const },
  ];
  const planned = { ...onMastodon, fault: 'upload cut off' as const, part: 2, mayMiss: false };
  const histories = evidence.histories.map((history) => ({
    ...history,
    plan: { ...history.plan, faults: [planned, { ...planned, id: 'f2' }] },
  }));
  const counts = countNetworks({ ...evidence, histories }, { cameAbout: (id) => id === 'f1' });
  t.deepEqual(
    counts.map(({ platform }) => platform),
    [...platforms],
  );
  t.deepEqual(
    counts.find(({ platform }) => platform === 'mastodon'),
    { platform: 'mastodon', channels: 1, parts: 2, files: 2, faults: 1 },
  );
});
