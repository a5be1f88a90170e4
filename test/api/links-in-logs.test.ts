import test from 'ava';
import { newLinkToken } from '../../runtime/secrets.ts';
import { startApiProcess } from '../support/api-process.ts';
import { poll } from '../support/poll.ts';
import { rawCall } from '../support/raw-call.ts';

test('the log of a failure has no link to a file or for an account, and no query', async (t) => {
  const api = await startApiProcess(t, {
    DATABASE_URL: 'postgresql://nobody:nothing@127.0.0.1:1/nowhere',
    SECRET_KEY: 'ab'.repeat(32),
    LOG_LEVEL: 'trace',
  });
  const token = newLinkToken();
  const inQuery = newLinkToken();
  const coded = `%${token.charCodeAt(0).toString(16)}${token.slice(1)}`;
  for (const path of [
    `/files/${token}/cat.png`,
    `/files/${token}/cat.png?t=${inQuery}`,
    `/files/${coded}/cat.png`,
    `/%66iles/${token}/cat.png`,
  ]) {
    const { status } = await rawCall(api.url + path);
    t.true([404, 503].includes(status), path);
  }

  const [code, state] = [newLinkToken(), newLinkToken()];
  for (const path of [
    `/connect/${token}?x=${code}`,
    `/connect/callback/x?code=${code}&state=${state}`,
    `/connect/callback/${token}?code=${code}&state=${state}`,
  ]) {
    const { status, body } = await rawCall(api.url + path);
    t.is(status, 503, path);
    t.regex(body, /Nothing was connected/v);
  }

  const headers = { authorization: 'Bearer svc_live_x' };
  t.is((await rawCall(`${api.url}/api/v1/me?t=${inQuery}`, { headers })).status, 503);
  for (const path of ['/files/…', '/connect/…', '/api/v1/me']) {
    await poll(api.log, (text) => text.includes(`"path":"${path}"`));
  }

  for (const secret of [token, token.slice(1), inQuery, code, state]) {
    t.false(api.log().includes(secret), api.log());
  }
});
