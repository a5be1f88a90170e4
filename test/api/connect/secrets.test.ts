import test from 'ava';
import { startApiProcess } from '../../support/api-process.ts';
import { accountNamed, grantOf } from '../../support/pretend-oauth.ts';
import { rawCall } from '../../support/raw-call.ts';
import { newLinkToken } from '../../../runtime/secrets.ts';
import { answerTo, connectWorld, leaveFrom, linkFor, stage, tokenIn } from './world.ts';

const world = connectWorld(test);
const { fake, api } = world;

test('no secret of an account or a link is in the database, on a page or in a response', async (t) => {
  const { client, browser, code } = await stage(world);
  const accounts = [accountNamed('@one'), accountNamed('@two')];
  fake.codes.set(code, accounts);
  const link = await linkFor(client);
  const pages = [await browser.get(link)];
  const leaving = await leaveFrom(browser, link);
  const state = leaving.searchParams.get('state') ?? '';
  const [cookie = ''] = browser.cookies.values();
  const em = api.punctual.orm.em.fork();
  const stored = async (): Promise<string> =>
    JSON.stringify([
      await em.execute('select * from connect_links where workspace_id = ?', [client.workspaceId]),
      await em.execute('select * from channel_grants where workspace_id = ?', [client.workspaceId]),
      await em.execute('select * from channels where workspace_id = ?', [client.workspaceId]),
    ]);
  const kept = [await stored()];
  pages.push(await browser.get(answerTo(leaving, { code })), await browser.get(link));
  kept.push(await stored());
  pages.push(await browser.submit(pages.at(-1) ?? t.fail(), 'choose', { account: '0' }));
  pages.push(await browser.get(link));
  kept.push(await stored());

  const { accessToken, refreshToken } = grantOf(code);
  const secrets = [accessToken, refreshToken ?? '', 'kept-verifier', state, cookie, tokenIn(link)];
  t.true(secrets.every((secret) => secret.length > 10));
  for (const secret of secrets) {
    t.false(
      kept.some((rows) => rows.includes(secret)),
      secret,
    );
  }

  const [first, ...after] = pages.map(({ text }) => text);
  t.true(first?.includes(tokenIn(link)), 'the form has to name its link');
  for (const secret of [...secrets.slice(0, 5), code]) {
    t.false(
      pages.some(({ text }) => text.includes(secret)),
      secret,
    );
  }

  t.false(pages.some(({ location }) => location?.includes(code) || location?.includes(state)));
  t.true(after.length > 3);
  const answers = [await client.get('/channels'), await client.get('/networks')];
  for (const secret of secrets) {
    t.false(JSON.stringify(answers.map(({ body }) => body)).includes(secret), secret);
  }
});

test('the log of a failure has no link, code or state', async (t) => {
  const process = await startApiProcess(t, {
    DATABASE_URL: 'postgresql://nobody:nothing@127.0.0.1:1/nowhere',
    SECRET_KEY: 'ab'.repeat(32),
    LOG_LEVEL: 'trace',
  });
  const [token, code, state] = [newLinkToken(), newLinkToken(), newLinkToken()];
  const paths = [
    `/connect/${token}`,
    `/connect/${token}?x=${code}`,
    `/connect/callback/x?code=${code}&state=${state}`,
    `/connect/callback/${token}?code=${code}&state=${state}`,
  ];
  for (const path of paths) {
    const { status, body } = await rawCall(process.url + path);
    t.is(status, 503, path);
    t.regex(body, /Nothing was connected/v);
  }

  t.regex(process.log(), /"path":"\/connect\/…"/v);
  for (const secret of [token, code, state]) {
    t.false(process.log().includes(secret), process.log());
  }
});
