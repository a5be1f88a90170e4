import test from 'ava';
import { createFigures, figureNames } from '../../sandbox/figures.ts';
import { openSandbox, postStatus } from './open-sandbox.ts';

const hourMs = 60 * 60_000;

test('metrics grow with a post’s age, never fall, and are the same after a restart', (t) => {
  let nowMs = Date.UTC(2026, 10, 20, 12);
  const figures = createFigures(() => nowMs);
  for (let number = 0; number < 50; number += 1) {
    nowMs = Date.UTC(2026, 10, 20, 12);
    const post = {
      network: 'x',
      id: String(number),
      text: '',
      createdAt: new Date(nowMs).toISOString(),
      replyTo: null,
    };
    let before = figures.of(post);
    t.true(Object.values(before).every((count) => count === 0));
    for (let hour = 0; hour < 200; hour += 5) {
      nowMs += 5 * hourMs;
      const after = figures.of(post);
      t.true(figureNames.every((name) => (after[name] ?? -1) >= (before[name] ?? 0)));
      before = after;
    }
    t.true((before.impressions ?? 0) <= 5000 && (before.likes ?? 0) <= 200);
    t.deepEqual(createFigures(() => nowMs).of(post), before);
  }
});

test('a control call sets, hides and deletes metrics, and names its invalid fields', async (t) => {
  const { url } = await openSandbox(t);
  const { id } = (await (await postStatus(url, { status: 'Hi' })).json()) as { id: string };
  const control = async (body: object) => {
    const answer = await fetch(`${url}/control/figures`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ platform: 'mastodon', ...body }),
    });
    return { status: answer.status, body: JSON.stringify(await answer.json()) };
  };
  const status = () =>
    fetch(`${url}/mastodon/api/v1/statuses/${id}`, { headers: { authorization: 'Bearer demo' } });

  t.is((await control({ id, figures: { likes: 7, comments: null } })).status, 200);
  const shown = (await (await status()).json()) as object;
  t.like(shown, { favourites_count: 7 });
  t.false('replies_count' in shown);
  t.is((await control({ id, gone: true })).status, 200);
  t.is((await status()).status, 404);
  t.false((await (await fetch(url)).text()).includes(id));

  t.deepEqual(await control({ followers: 9 }), { status: 200, body: '{"followers":9}' });
  t.is((await control({ id: 'other' })).status, 404);
  for (const wrong of [{ figures: { hearts: 1 } }, { figures: { likes: -1 } }, { platform: 'y' }]) {
    t.is((await control({ id, ...wrong })).status, 400, JSON.stringify(wrong));
  }
});
