/** A response in the browser. */
export type Seen = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The target of a redirect, or null. */
  readonly location: string | null;
};

/** A minimal browser for pages without scripts: cookies and forms. */
export type Browser = {
  /** @param address Absolute, or a path of the service. */
  readonly get: (address: string, headers?: Record<string, string>) => Promise<Seen>;
  /** Submits the form of a page with this step, filled in. */
  readonly submit: (page: Seen, step: string, filled?: Record<string, string>) => Promise<Seen>;
  readonly post: (address: string, form: Record<string, string>) => Promise<Seen>;
  readonly cookies: Map<string, string>;
};

/** @param url The service's real URL, which replaces the origin of its public addresses. */
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

/** The form with this step, from the markup. */
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

/** The target of the page's automatic redirect. */
export const refreshOf = ({ text }: Seen): string =>
  unescaped(
    /http-equiv="refresh" content="\d+; url=(?<url>[^"]*)"/v.exec(text)?.groups?.['url'] ?? '',
  );

/** The visible text of a page. */
export const wordsOf = ({ text }: Seen): string =>
  unescaped(text.replace(/<head[\s\S]*<\/head>/v, '').replaceAll(/<[^>]+>/gv, ' '))
    .replaceAll(/\s+/gv, ' ')
    .trim();
