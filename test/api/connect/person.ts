/** An answer as a browser gets it. */
export type Seen = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Where a redirect leads; null where it is none. */
  readonly location: string | null;
};

/** As much of a browser as a page without scripts needs: cookies, and forms. */
export type Browser = {
  /** @param address Absolute, or a path of the service. */
  readonly get: (address: string, headers?: Record<string, string>) => Promise<Seen>;
  /** Sends the form of a page that has this step, with what the person filled in. */
  readonly submit: (page: Seen, step: string, filled?: Record<string, string>) => Promise<Seen>;
  readonly post: (address: string, form: Record<string, string>) => Promise<Seen>;
  readonly cookies: Map<string, string>;
};

/** @param url Where the service really is: the origin of what its own public address names is replaced by it. */
export function openBrowser(url: string): Browser {
  const cookies = new Map<string, string>();
  const ask = async (address: string, init: RequestInit = {}): Promise<Seen> => {
    const { pathname, search } = new URL(address, url);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${url}${pathname}${search}`, {
      redirect: 'manual',
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...(cookie ? { cookie } : {}) },
    });
    for (const set of response.headers.getSetCookie()) {
      const { name = '', value = '' } = /^(?<name>[^=]+)=(?<value>[^;]*)/v.exec(set)?.groups ?? {};
      cookies.set(name, value);
    }

    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get('location') };
  };
  const post = (address: string, form: Record<string, string>): Promise<Seen> =>
    ask(address, { method: 'POST', body: new URLSearchParams(form) });
  return {
    cookies,
    get: (address, headers = {}) => ask(address, { headers }),
    post,
    submit: (page, step, filled = {}) => {
      const { action, fields } = formOf(page, step);
      return post(action, { ...fields, ...filled });
    },
  };
}

/** The form with this step, as its markup has it. */
function formOf({ text }: Seen, step: string): { action: string; fields: Record<string, string> } {
  const forms = text.match(/<form[\s\S]*?<\/form>/gv) ?? [];
  const form = forms.find((one) => one.includes(`name="step" value="${step}"`));
  if (form === undefined) {
    throw new Error(`The page has no form for "${step}": ${text}`);
  }

  const inputs = (form.match(/<input[^>]*>/gv) ?? []).filter(
    (one) => !one.includes('type="radio"'),
  );
  const attribute = (tag: string, name: string): string =>
    unescaped(new RegExp(`\\s${name}="([^"]*)"`, 'v').exec(tag)?.[1] ?? '');
  return {
    action: attribute(form, 'action'),
    fields: Object.fromEntries(
      inputs.map((one) => [attribute(one, 'name'), attribute(one, 'value')]),
    ),
  };
}

const unescaped = (markup: string): string =>
  markup
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** Where a page leads the browser by itself. */
export const refreshOf = ({ text }: Seen): string =>
  unescaped(
    /http-equiv="refresh" content="\d+; url=(?<url>[^"]*)"/v.exec(text)?.groups?.['url'] ?? '',
  );

/** What people read on a page. */
export const wordsOf = ({ text }: Seen): string =>
  unescaped(text.replace(/<head[\s\S]*<\/head>/v, '').replaceAll(/<[^>]+>/gv, ' '))
    .replaceAll(/\s+/gv, ' ')
    .trim();
