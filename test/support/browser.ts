import { request as send, type IncomingHttpHeaders } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { DomUtils, parseDocument } from 'htmlparser2';

type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number];

/** The page that the browser shows. */
export type Page = {
  readonly url: string;
  /** The redirect's status, if the browser stopped before its target. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly markup: string;
  /** The visible text, with single spaces. */
  readonly text: string;
  readonly forms: readonly Form[];
};

export type Form = {
  readonly method: 'GET' | 'POST';
  /** The absolute URL. */
  readonly action: string;
  /** The fields that it sends unchanged: hidden fields, filled-in values and selected options. */
  readonly fields: Readonly<Record<string, string>>;
  readonly buttons: readonly {
    readonly label: string;
    readonly name: string;
    readonly value: string;
  }[];
};

export type Browser = {
  /** Opens an address and follows its redirects. */
  open(address: string): Promise<Page>;
  /**
   * Presses a button of the page's forms, by its label.
   *
   * @param values Filled in or selected first, by field name; null for a box that is not ticked.
   */
  press(page: Page, button: string, values?: Values): Promise<Page>;
  readonly cookies: ReadonlyMap<string, string>;
};

type Values = Readonly<Record<string, string | null>>;

const maxRedirects = 20;

/**
 * A browser without scripts: it keeps cookies, follows redirects, and sends forms.
 *
 * @param stopsBefore Prefixes of addresses that it does not open, because no server listens there.
 */
export function openBrowser(...stopsBefore: readonly string[]): Browser {
  const cookies = new Map<string, string>();
  const go = async (
    address: string,
    form?: { readonly body: string; readonly origin: string },
  ): Promise<Page> => {
    let [url, body] = [address, form?.body];
    for (let redirects = 0; redirects < maxRedirects; redirects += 1) {
      const answer = await fetchPage(url, cookies, body === undefined ? undefined : form);
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status > 399 || location === undefined) {
        return pageOf(url, answer);
      }
      url = new URL(location, url).href;
      // 307 and 308 repeat the form's request; other redirects become a GET.
      body = answer.status > 306 ? body : undefined;
      if (stopsBefore.some((start) => url.startsWith(start))) {
        return pageOf(url, { ...answer, markup: '' });
      }
    }
    throw new Error(`More than ${maxRedirects} redirects: ${url}`);
  };
  return {
    open: (address) => go(address),
    press(page, label, values = {}) {
      const form = page.forms.find(({ buttons }) => buttons.some((one) => one.label === label));
      const button = form?.buttons.find((one) => one.label === label);
      if (form === undefined || button === undefined) {
        throw new Error(`${page.url} has no button "${label}": ${page.text}`);
      }
      const named = button.name === '' ? {} : { [button.name]: button.value };
      const sent = filled({ ...form.fields, ...values, ...named });
      if (form.method === 'GET') {
        return go(`${form.action.split('?')[0]}?${sent}`);
      }
      return go(form.action, { body: String(sent), origin: new URL(page.url).origin });
    },
    cookies,
  };
}

const filled = (values: Values): URLSearchParams =>
  new URLSearchParams(
    Object.entries(values).filter((field): field is [string, string] => field[1] !== null),
  );

type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly markup: string;
};

/** Sends one request as a browser does. Node's own `fetch` cannot send these headers. */
async function fetchPage(
  url: string,
  cookies: Map<string, string>,
  form: { readonly body: string; readonly origin: string } | undefined,
): Promise<Answer> {
  const request = send(url, {
    method: form === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'text/html,*/*;q=0.8',
      'user-agent': 'Mozilla/5.0 (a browser of the tests)',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      'sec-fetch-site':
        form === undefined
          ? 'none'
          : form.origin === new URL(url).origin
            ? 'same-origin'
            : 'cross-site',
      ...(cookies.size > 0 && {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      }),
      ...(form && {
        origin: form.origin,
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(form.body)),
      }),
    },
  });
  const answered = new Promise<Answer>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      readText(response).then((markup) => resolve({ status, headers, markup }), reject);
    });
  });
  request.end(form?.body);
  const answer = await answered;
  for (const cookie of answer.headers['set-cookie'] ?? []) {
    keepCookie(cookies, cookie);
  }
  return answer;
}

function keepCookie(cookies: Map<string, string>, header: string): void {
  const [pair = '', ...attributes] = header.split(';').map((part) => part.trim());
  const name = pair.slice(0, pair.indexOf('='));
  const value = pair.slice(pair.indexOf('=') + 1);
  const isOver = attributes.some((attribute) => {
    const [, expires] = /^expires=(.*)$/iv.exec(attribute) ?? [];
    return /^max-age=(?:0|-\d+)$/iv.test(attribute) || Date.parse(expires ?? '') < Date.now();
  });
  if (isOver || value === '') {
    cookies.delete(name);
  } else {
    cookies.set(name, value);
  }
}

function pageOf(url: string, { status, headers, markup }: Answer): Page {
  const document = parseDocument(markup);
  const forms = DomUtils.getElementsByTagName('form', document);
  const [body] = DomUtils.getElementsByTagName('body', document);
  return {
    url,
    status,
    headers,
    markup,
    text: body === undefined ? '' : textOf(body),
    forms: forms.map((form) => formOf(form, url)),
  };
}

const textOf = (element: Element): string =>
  DomUtils.textContent(element).replaceAll(/\s+/gv, ' ').trim();

function formOf(form: Element, url: string): Form {
  const fields: Record<string, string> = {};
  for (const { attribs } of DomUtils.getElementsByTagName('input', form)) {
    const { name, type = 'text', value = type === 'checkbox' ? 'on' : '' } = attribs;
    const isChoice = type === 'radio' || type === 'checkbox';
    if (name && type !== 'submit' && (!isChoice || 'checked' in attribs)) {
      fields[name] = value;
    }
  }
  const buttons = DomUtils.getElementsByTagName('button', form).map((button) => ({
    label: textOf(button),
    name: button.attribs['name'] ?? '',
    value: button.attribs['value'] ?? '',
  }));
  const isPost = form.attribs['method']?.toLowerCase() === 'post';
  return {
    method: isPost ? 'POST' : 'GET',
    action: new URL(form.attribs['action'] ?? '', url).href,
    fields,
    buttons,
  };
}
