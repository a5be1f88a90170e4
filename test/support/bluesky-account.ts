import { AtpAgent } from '@atproto/api';
import { env } from './env.ts';

export type BlueskyTestAccount = {
  readonly baseUrl: string;
  readonly did: string;
  readonly handle: string;
  readonly appPassword: string;
  /** An unrelated client of the same account, to read back with. */
  readonly agent: AtpAgent;
  /** Ends the app password, as the account's owner does in the app's settings. */
  revokeAppPassword(): Promise<void>;
  /** What a moderator does to the account. */
  takeDown(): Promise<void>;
};

/** Makes an account with an app password on the running PDS. Takes about 0.2 s. */
export async function blueskyAccount(): Promise<BlueskyTestAccount> {
  const baseUrl = env('PUNCTUAL_TEST_PDS_URL');
  const name = `u${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const handle = `${name}.test`;
  const agent = new AtpAgent({ service: baseUrl });
  const password = crypto.randomUUID();
  await agent.createAccount({ handle, email: `${name}@example.com`, password });
  const did = agent.assertDid;
  const { server } = agent.com.atproto;
  const { data } = await server.createAppPassword({ name: 'punctual' });
  return {
    baseUrl,
    did,
    handle,
    appPassword: data.password,
    agent,
    revokeAppPassword: async () => {
      await server.revokeAppPassword({ name: 'punctual' });
    },
    takeDown: () => takeDown(baseUrl, did),
  };
}

async function takeDown(baseUrl: string, did: string): Promise<void> {
  const password = env('PUNCTUAL_TEST_PDS_ADMIN_PASSWORD');
  const admin = new AtpAgent({ service: baseUrl });
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`;
  await admin.com.atproto.admin.updateSubjectStatus(
    {
      subject: { $type: 'com.atproto.admin.defs#repoRef', did },
      takedown: { applied: true, ref: 'test' },
    },
    { headers: { authorization }, encoding: 'application/json' },
  );
}
