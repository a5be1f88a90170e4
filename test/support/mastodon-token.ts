const redirectUri = 'http://localhost/callback';

type Grant = { readonly email: string; readonly password: string; readonly scopes: string };
type App = { readonly client_id: string; readonly client_secret: string };

/** Acts as an app and as its user's browser: registration, sign-in, consent, token (RFC 6749, code flow). */
export async function mastodonToken(baseUrl: string, grant: Grant) {
  const { scopes } = grant;
  const names = { client_name: 'Punctual tests', redirect_uris: redirectUri, scopes };
  const app = await json<App>(await post(`${baseUrl}/api/v1/apps`, names));
  const code = await consent(baseUrl, app, grant);
  const { access_token: accessToken } = await json<{ access_token: string }>(
    await post(`${baseUrl}/oauth/token`, {
      grant_type: 'authorization_code',
      code,
      client_id: app.client_id,
      client_secret: app.client_secret,
      redirect_uri: redirectUri,
      scope: scopes,
    }),
  );
  const revoke = async () => {
    const { client_id, client_secret } = app;
    const token = { client_id, client_secret, token: accessToken };
    await json(await post(`${baseUrl}/oauth/revoke`, token));
  };
  return { accessToken, revoke };
}

async function consent(baseUrl: string, app: App, grant: Grant): Promise<string> {
  const browse = browser(baseUrl);
  const wish = new URLSearchParams({
    client_id: app.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: grant.scopes,
  });
  await browse(`/oauth/authorize?${wish}`);
  const form = new URLSearchParams({ username: grant.email, password: grant.password });
  const signedIn = await browse('/auth/sign_in', form);
  await browse(signedIn.headers.get('location') ?? '/');
  const allowed = await browse('/oauth/authorize', new URLSearchParams());
  const location = allowed.headers.get('location');
  const code = location && new URL(location).searchParams.get('code');
  if (!code) {
    throw new Error(`The server granted no code: ${allowed.status} ${await allowed.text()}`);
  }

  return code;
}

/** A client that keeps cookies and does not follow redirects. */
function browser(baseUrl: string) {
  const cookies = new Map<string, string>();
  return async (path: string, form?: URLSearchParams): Promise<Response> => {
    const response = await fetch(new URL(path, baseUrl), {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
}

const post = (url: string, form: Record<string, string>): Promise<Response> =>
  fetch(url, { method: 'POST', body: new URLSearchParams(form) });

async function json<T>(response: Response): Promise<T> {
  const body = await response.text();
  if (!response.ok) {
    throw new Error(`${response.url} answered ${response.status}: ${body}`);
  }

  return JSON.parse(body);
}
