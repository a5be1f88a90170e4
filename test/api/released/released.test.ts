import { readFileSync } from 'node:fs';
import test from 'ava';
import { openAnswers } from '../../../api/openapi/document.ts';
import { ourDocument } from '../../support/contract.ts';
import { breakingChanges } from './breaking-changes.ts';

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');
const current = JSON.stringify(openAnswers(ourDocument()));

/** The part of the changelog about the next release. */
const [, unreleased = ''] = read('../../../CHANGELOG.md').split(/^## /mv);
const announced = unreleased.split('\n').filter((line) => line.startsWith('- **Breaking:**'));

test('a change that breaks programs is in the changelog', (t) => {
  const breaks = breakingChanges(JSON.parse(read('openapi.json')), JSON.parse(current));
  t.deepEqual(
    breaks
      .filter(([where]) => !announced.some((line) => line.includes(`\`${where}\``)))
      .map((one) => one.join(': ')),
    [],
    'Keep what programs rely on, or announce each place in CHANGELOG.md: "- **Breaking:** `Post.status` …".',
  );
});

type Document = ReturnType<typeof JSON.parse>;

/** How a later version could differ, and what that breaks. */
const cases: readonly (readonly [string, (is: Document) => unknown, ...string[]])[] = [
  ['nothing', () => undefined],
  ['a call is gone', ({ paths }) => delete paths['/posts'].get, 'GET /posts: is gone'],
  ['an event is gone', ({ webhooks }) => delete webhooks['post.failed'], 'post.failed: is gone'],
  [
    'a field of an answer is gone',
    ({ components: { schemas } }) => delete schemas.Post.properties.warning,
    'Post.warning: is gone',
  ],
  [
    'a field of an answer may be null',
    (is) => (is.components.schemas.Post.properties.id.type = ['string', 'null']),
    'Post.id: may be null',
  ],
  [
    'a field of a request is required',
    (is) => (is.components.schemas.NewPost.required = ['body']),
    'NewPost.body: is now required',
  ],
  [
    'a request may be less long',
    (is) => (is.components.schemas.NewPost.properties.body.maxLength = 500),
    'NewPost.body: refuses maxLength 50000',
  ],
  [
    'a value of a request is gone',
    (is) => is.components.schemas.DeliveryState.enum.pop(),
    'GET /webhooks/{id}/deliveries.status: refuses failed',
  ],
  [
    'a parameter is gone',
    (is) => is.paths['/posts'].get.parameters.shift(),
    'GET /posts.status: is gone',
  ],
  [
    'a successful answer has another status',
    (is) => delete is.paths['/posts'].post.responses[201],
    'POST /posts: no longer answers 201',
  ],
  [
    'additions',
    (is) => {
      const { Post, NewPost, PostState, ErrorCode } = is.components.schemas;
      Post.properties.more = NewPost.properties.more = { type: 'string' };
      Post.required.push('more');
      PostState.enum.push('paused');
      ErrorCode.enum.push('a_new_code');
      NewPost.properties.body.maxLength *= 2;
      is.paths['/more'] = is.paths['/posts'];
      is.paths['/posts'].get.parameters.push({ name: 'more', schema: { type: 'string' } });
    },
  ],
];

for (const [title, change, ...expected] of cases) {
  test(`what breaks programs: ${title}`, (t) => {
    const [was, is] = [JSON.parse(current), JSON.parse(current)];
    change(is);
    t.deepEqual(
      breakingChanges(was, is).map((one) => one.join(': ')),
      expected,
    );
  });
}
