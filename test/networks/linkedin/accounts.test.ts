import test, { type ExecutionContext } from 'ava';
import { connectLinkedin } from '../../../networks/linkedin/connect.ts';
import { linkedin as entry } from '../../../networks/linkedin/entry.ts';
import { NetworkError } from '../../../networks/network.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { egressTo, openConnection } from '../connection.ts';
import { partsOf, publish } from '../publish.ts';
import { connected, linkedin, listed, selfServe, version } from './bench.ts';

test('a member connects by a token, with a name and a permanent id', async (t) => {
  const { account, url } = await connected(t);
  t.deepEqual(account, {
    baseUrl: `${url}/linkedin`,
    remoteId: 'urn:li:person:sandboxDemo',
    handle: 'Demo',
    displayName: 'Demo',
    credentials: { accessToken: 'demo' },
    session: null,
    settings: { isOrganization: false, webUrl: `${url}/linkedin` },
  });
});

test('an organisation’s page connects by its id or URN, and posts as itself', async (t) => {
  for (const organization of ['1000', 'urn:li:organization:1000']) {
    const { account } = await connected(t, { organization });
    t.like(account, { remoteId: 'urn:li:organization:1000', handle: 'demo-page' });
    await publish(linkedin, openConnection(t, account), partsOf('From the page'));
    t.like(await listed(account), [{ author: 'urn:li:organization:1000', visibility: 'PUBLIC' }]);
  }
});

async function refusalOf(t: ExecutionContext, token: string, organization?: string) {
  const { url } = await openSandbox(t);
  const login = { baseUrl: `${url}/linkedin`, accessToken: token, organization, version };
  return t.throwsAsync(connectLinkedin(egressTo(t, url), login), { instanceOf: Error });
}

test('a token that LinkedIn refuses does not connect, and is not in the message', async (t) => {
  const error = await refusalOf(t, 'a-wrong-token');
  t.like(error, { name: 'NetworkError', code: 'access_lost', accepted: 'no' });
  t.false(error?.message.includes('a-wrong-token'));
});

test('a page where the member may not post is refused, with the member’s role', async (t) => {
  const error = await refusalOf(t, 'demo', '1001');
  t.like(error, { code: 'permission_missing' });
  t.regex(
    error?.message ?? '',
    /may not post for urn:li:organization:1001 \(its role there: ANALYST\)/,
  );
  t.like(await refusalOf(t, 'demo', '9999'), { code: 'permission_missing' });
  t.like(await refusalOf(t, selfServe, '1000'), { code: 'permission_missing' });
});

test('an organisation can be named only by an id or a URN', async (t) => {
  for (const name of ['acme', 'urn:li:person:x', '../x', '1 2']) {
    t.like(await refusalOf(t, 'demo', name), { name: 'AppError', code: 'invalid_request' });
  }
});

test('the URLs of LinkedIn’s own posts are on its own pages', async (t) => {
  const { account, connection } = await connected(t);
  const settings = { isOrganization: false, webUrl: 'https://www.linkedin.com' };
  const { sent } = await publish(
    linkedin,
    openConnection(t, account, { ...connection, settings }),
    partsOf('Hi', 'A comment'),
  );
  const [post, comment] = sent;
  t.is(post?.url, `https://www.linkedin.com/feed/update/${post?.remoteId}/`);
  t.regex(
    comment?.url ?? '',
    /^https:\/\/www\.linkedin\.com\/feed\/update\/urn:li:share:\d+\/\?commentUrn=urn%3Ali%3Acomment%3A\(activity%3A\d+%2C\d+\)$/,
  );
});

test('an error names wrong settings, and missing ones default to LinkedIn’s own', (t) => {
  const problemsOf = (env: Record<string, string>): string[] => {
    const problems: string[] = [];
    entry(env, problems);
    return problems;
  };
  t.deepEqual(problemsOf({}), []);
  t.deepEqual(problemsOf({ PUNCTUAL_LINKEDIN_VERSION: '202612' }), []);
  for (const wrong of ['2026', '202613', '202600', 'x', '2026-09']) {
    t.regex(problemsOf({ PUNCTUAL_LINKEDIN_VERSION: wrong })[0] ?? '', /a year and a month/);
  }
  t.is(problemsOf({ PUNCTUAL_LINKEDIN_API_URL: 'nowhere' }).length, 1);
});

test('credentials of another shape lose access', async (t) => {
  const { account } = await connected(t);
  for (const credentials of [null, {}, { accessToken: 'a\nb' }, { accessToken: 1 }]) {
    const connection = openConnection(t, account, { credentials });
    const attempt = publish(linkedin, connection, partsOf('Hi'));
    t.like(await t.throwsAsync(attempt, { instanceOf: NetworkError }), { code: 'access_lost' });
  }
});
