import type { Account } from '../../networks/network.ts';
import {
  OauthError,
  type Finish,
  type Grant,
  type Oauth,
  type OauthEntry,
} from '../../networks/oauth/contract.ts';

/** A fake network for sign-in: it redeems codes that the test defines. */
export type PretendOauth = {
  readonly entry: OauthEntry;
  /** The accounts that each code gives. A function may fail or take its time. */
  readonly codes: Map<string, readonly Account[] | (() => Promise<readonly Account[]>)>;
  /** The redeemed codes, in order. */
  readonly redeemed: string[];
};

export const grantOf = (code: string): Grant => ({
  accessToken: `access-${code}`,
  accessEndsAtMs: null,
  refreshToken: `refresh-${code}`,
  endsAtMs: null,
});

export const accountNamed = (handle: string, remoteId = handle): Account => ({
  baseUrl: 'https://network.example',
  remoteId,
  handle,
  credentials: null,
  session: null,
  settings: {},
});

/** @param about Fields that replace the default entry's. */
export function pretendOauth(about: Partial<OauthEntry> = {}): PretendOauth {
  const codes: PretendOauth['codes'] = new Map();
  const redeemed: string[] = [];
  const oauth: Oauth = {
    begin: async ({ state, values, redirectUriFor }) => {
      const server = values['url'];
      const redirectUri = redirectUriFor(server);
      const query = new URLSearchParams({ state, redirect_uri: redirectUri });
      const url = `${server ?? 'https://network.example'}/authorize?${query}`;
      return { url, state, redirectUri, kept: { verifier: 'kept-verifier' } };
    },
    finish: ({ answer }) => finish(answer),
    refresh: async ({ grant }) => grant,
  };
  const finish = async (answer: Finish['answer']) => {
    if (answer.get('error') !== null) {
      throw new OauthError('denied', 'You did not allow it.');
    }

    const code = answer.get('code') ?? '';
    redeemed.push(code);
    const opens = codes.get(code) ?? [];
    return {
      grant: grantOf(code),
      accounts: typeof opens === 'function' ? await opens() : opens,
    };
  };
  return {
    codes,
    redeemed,
    entry: { missing: [], fields: {}, load: async () => oauth, ...about },
  };
}
