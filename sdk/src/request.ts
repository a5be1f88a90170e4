import { ConnectionError, PunctualError } from './errors.ts';

export type ClientOptions = {
  /** An API key of a workspace, or an operator key for `workspaces`. */
  readonly apiKey: string;
  /** Address of the service, such as `https://punctual.example.com`; its calls are below `/api/v1`. */
  readonly baseUrl: string;
  /** How often a failed call is repeated; 2 unless given. */
  readonly maxRetries?: number;
  /** Time limit of each attempt, in milliseconds; 60,000 unless given, eleven minutes for imports and half an hour for uploads. */
  readonly timeoutMs?: number;
  /** Replaces the runtime's `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
};

export type CallOptions = {
  /** Ends the call and its repeats. */
  readonly signal?: AbortSignal;
  /** Time limit of each attempt, in milliseconds. */
  readonly timeoutMs?: number;
  /**
   * For calls that create something: the same key with the same request creates it once. Without one, each call has a
   * new key, which protects its own repeats only. It has 1 to 255 visible ASCII characters.
   */
  readonly idempotencyKey?: string;
};

/** Whether a call can be sent again: because it changes nothing anew, by an idempotency key, or not at all. */
export type Repeat = 'safe' | 'by key' | 'never';

export type Call = {
  readonly method: string;
  /** Below `/api/v1`. */
  readonly path: string;
  readonly query?: object | undefined;
  /** The body and its content type; a stream can be sent once only. */
  readonly body?:
    | { readonly value: NonNullable<RequestInit['body']>; readonly type?: string }
    | undefined;
  readonly repeat: Repeat;
};

/** A longer `Retry-After` is thrown instead: the caller knows better whether to wait. */
const longestWaitS = 60;

/**
 * Sends a call. Repeats it after 429 and 503, and after other failures if it can be sent again.
 *
 * @throws PunctualError if the API refused it.
 * @throws ConnectionError if no complete answer came.
 * @throws the signal's reason if the caller ended it.
 */
export async function send<Result>(
  client: ClientOptions,
  call: Call,
  options: CallOptions,
  read: (response: Response) => Promise<Result>,
): Promise<Result> {
  const headers = headersOf(client, call, options);
  const most = call.body?.value instanceof ReadableStream ? 0 : (client.maxRetries ?? 2);
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await sendOnce(client, call, { headers, options, read });
    } catch (error) {
      options.signal?.throwIfAborted();
      const waitMs = repeats < most ? delayMs(error, call.repeat !== 'never', repeats) : null;
      if (waitMs === null) {
        throw error;
      }

      await pause(waitMs, options.signal);
    }
  }
}

function headersOf({ apiKey }: ClientOptions, { body, repeat }: Call, options: CallOptions) {
  // Ignored, `{ idempotency_key: … }` would let a post go out twice.
  for (const name of Object.keys(options)) {
    if (!/^(signal|timeoutMs|idempotencyKey)$/.test(name)) {
      throw new TypeError(`Unknown option ${name}.`);
    }
  }

  const key = options.idempotencyKey ?? (repeat === 'by key' ? crypto.randomUUID() : undefined);
  if (/[^!-~]|.{256}/v.test(key ?? '')) {
    throw new TypeError('The idempotencyKey cannot be sent.');
  }

  return {
    Authorization: `Bearer ${apiKey.replace(/^bearer /i, '')}`,
    ...(body?.type === undefined ? {} : { 'Content-Type': body.type }),
    ...(key === undefined ? {} : { 'Idempotency-Key': key }),
  };
}

async function sendOnce<Result>(
  client: ClientOptions,
  call: Call,
  {
    headers,
    options,
    read,
  }: {
    readonly headers: Readonly<Record<string, string>>;
    readonly options: CallOptions;
    readonly read: (response: Response) => Promise<Result>;
  },
): Promise<Result> {
  const { method, body } = call;
  const minutes = typeof body?.value === 'object' ? 30 : call.path === '/media/import' ? 11 : 1; // As the API's own.
  const timeout = AbortSignal.timeout(options.timeoutMs ?? client.timeoutMs ?? minutes * 60_000);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  const url = addressOf(client, call);
  // `duplex` is required for a stream, and missing in the types of browsers.
  const init = { method, headers, signal, redirect: 'error', duplex: 'half' } as const;
  try {
    const response = await (client.fetch ?? fetch)(url, { ...init, body: body?.value ?? null });
    if (response.ok) {
      return await read(response);
    }

    throw new PunctualError(response, await bodyOf(response));
  } catch (error) {
    if (error instanceof PunctualError) {
      throw error;
    }

    const isWhole = error instanceof SyntaxError; // From a web page, or with `format: 'csv'`.
    const missing = isWhole ? 'JSON' : timeout.aborted ? 'answer in time' : 'complete answer';
    const message = `${method} ${url.origin}${url.pathname} got no ${missing}.`;
    throw new ConnectionError(message, method !== 'GET', error);
  }
}

function addressOf({ baseUrl }: ClientOptions, { path, query = {} }: Call): URL {
  const url = new URL(`${baseUrl.replace(/\/$/, '')}/api/v1${path}`);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) {
      url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
  }

  return url;
}

/** The JSON of a failure; null if it has none. */
async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @returns how long to wait before the call is sent again; null if it must not be. */
function delayMs(error: unknown, canRepeat: boolean, repeats: number): number | null {
  const backoffMs = 500 * 2 ** repeats * (1 + Math.random());
  if (!(error instanceof PunctualError)) {
    return canRepeat ? backoffMs : null;
  }

  const { status, code, retryAfterS } = error;
  // The API's own: that of a proxy does not say whether the API has done the call.
  const isRefusedForNow = status === 429 || (status === 503 && code === 'unavailable');
  if (!isRefusedForNow && !(status >= 500 && canRepeat)) {
    return null;
  }

  if (retryAfterS === null) {
    return backoffMs;
  }

  return retryAfterS > longestWaitS ? null : retryAfterS * 1000 + Math.random() * 250;
}

/** @throws the signal's reason. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) {
      end();
    }
  });
  signal?.throwIfAborted();
}
