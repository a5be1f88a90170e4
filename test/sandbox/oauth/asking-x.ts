import { callWith, challenge, type Asking } from './sign-in.ts';

/** A request to X for all scopes. */
export const askingX: Asking = {
  authorize: '/x/i/oauth2/authorize',
  token: '/x/2/oauth2/token',
  query: {
    scope: 'tweet.read tweet.write users.read media.write offline.access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  },
  app: { id: 'punctual', secret: 'sandbox' },
  authentication: 'basic',
};

/** Returns the account of a token. */
export const me = (url: string, token: string): Promise<Response> =>
  callWith(token, `${url}/x/2/users/me`);

export const tweet = (url: string, token: string, text: string): Promise<Response> =>
  callWith(token, `${url}/x/2/tweets`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  });
