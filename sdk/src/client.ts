import { byCursor, listOf, type List, type Paging } from './lists.ts';
import { send, type Call, type CallOptions, type ClientOptions, type Repeat } from './request.ts';
import type { Answer, Arguments, OperationId, Query, Schemas } from './types.ts';
import { uploadBody, type UploadFields, type UploadSource } from './uploads.ts';
import { waitFor, type WaitOptions } from './wait-for.ts';

type Method<O extends OperationId> = (...args: Arguments<O, CallOptions>) => Promise<Answer<O>>;

type ListOf<O extends OperationId, Item> = (
  query?: Query<O>,
  options?: CallOptions,
) => List<Answer<O>, Item>;

/**
 * A client of the Punctual API. A method returns the API's answer, or throws a `PunctualError` or `ConnectionError`.
 * The reference of the API describes the fields.
 */
export class Punctual {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    // A key with the ellipsis of an example is no header, and `localhost:3000` is an address of the scheme `localhost:`.
    if (
      !options.apiKey ||
      /[^\s!-~]/.test(options.apiKey) ||
      !/^https?:\/\/\S/.test(options.baseUrl)
    ) {
      throw new TypeError('Punctual needs an apiKey and a baseUrl such as https://example.com.');
    }

    this.#options = options;
  }

  /** The workspace, its plan and limits, and the key. */
  readonly me = this.#method<'getWorkspace'>('GET /me');
  /** The workspace's quotas, and how much of them is used. */
  readonly usage = this.#method<'getUsage'>('GET /usage');
  /** The networks and their limits; with `channel_id`, those of an account. */
  readonly networks = this.#method<'listNetworks'>('GET /networks', 'query');

  readonly posts = {
    /** Schedules a post, or stores a draft if it has no time. */
    create: this.#method<'createPost'>('POST /posts', 'body', 'by key'),
    /** Checks a post against the rules of its networks, without storing it. */
    validate: this.#method<'validatePost'>('POST /posts/validate', 'body', 'safe'),
    get: this.#method<'getPost'>('GET /posts/{id}'),
    list: this.#list<'listPosts', Schemas['PostListItem']>(
      '/posts',
      byCursor(({ posts }) => posts),
    ),
    /** Changes a draft or scheduled post. Fields that are not given stay. */
    edit: this.#method<'editPost'>('PATCH /posts/{id}', 'body', 'safe'),
    /** Makes a scheduled post a draft. `still_sending` counts channels that are being sent, and finish. */
    cancel: this.#method<'cancelPost'>('POST /posts/{id}/cancel'),
    /** Sends failed channels again. */
    retry: this.#method<'retryPost'>('POST /posts/{id}/retry'),
    /** Copies a post as a draft. */
    copy: this.#method<'copyPost'>('POST /posts/{id}/copy', 'body', 'by key'),
    /** Records what a person found out about an unconfirmed channel. */
    settle: this.#method<'settlePost'>('POST /posts/{id}/settle', 'body'),
    /** Removes a published post from its networks. */
    unpublish: this.#method<'unpublishPost'>('POST /posts/{id}/unpublish', 'body'),
    delete: this.#method<'deletePost'>('DELETE /posts/{id}'),
    /**
     * Waits until the post has ended on all channels.
     *
     * @returns the post; its `outcome` says how it ended.
     * @throws Error if it is a draft, which nothing will publish.
     */
    waitFor: (id: string, options: WaitOptions = {}): Promise<Schemas['Post']> =>
      waitFor(async (one) => (await this.posts.get(id, one)).post, options),
  };

  readonly channels = {
    list: this.#method<'listChannels'>('GET /channels'),
    get: this.#method<'getChannel'>('GET /channels/{id}'),
    edit: this.#method<'editChannel'>('PATCH /channels/{id}', 'body', 'safe'),
    /** Makes a link on which a person connects an account. */
    connect: this.#method<'connectChannel'>('POST /channels/connect', 'body', 'by key'),
    /** The state of a connect link. */
    link: this.#method<'getConnectLink'>('GET /channels/connect/{link_id}'),
    /** Asks the network whether the account can still be used. */
    check: this.#method<'checkChannel'>('POST /channels/{id}/check', undefined, 'safe'),
    /** Makes a link on which a person connects this account again. */
    reconnect: this.#method<'reconnectChannel'>('POST /channels/{id}/reconnect', 'body'),
    disconnect: this.#method<'disconnectChannel'>('DELETE /channels/{id}'),
  };

  readonly media = {
    /** Uploads an image or a video from a path, a `Blob` or a stream. */
    upload: async (
      source: UploadSource,
      fields: UploadFields = {},
      options?: CallOptions,
    ): Promise<Answer<'uploadMedia'>> => {
      const body = await uploadBody(source, fields);
      return this.#send({ method: 'POST', path: '/media', body, repeat: 'by key' }, options);
    },
    /** Downloads an image or a video from a public https link into the library. */
    import: this.#method<'importMedia'>('POST /media/import', 'body', 'by key'),
    get: this.#method<'getMedia'>('GET /media/{id}'),
    list: this.#list<'listMedia', Schemas['MediaFile']>(
      '/media',
      byCursor(({ media }) => media),
    ),
    edit: this.#method<'editMedia'>('PATCH /media/{id}', 'body', 'safe'),
    delete: this.#method<'deleteMedia'>('DELETE /media/{id}'),
  };

  readonly analytics = {
    /** Metrics of posts, with totals. */
    posts: this.#list<'getAnalytics', Answer<'getAnalytics'>['posts'][number]>('/analytics', {
      items: ({ posts }) => posts,
      next: ({ has_more: more, posts }, { offset = 0 }) =>
        more ? { offset: offset + posts.length } : null,
    }),
    /** The same as CSV text. */
    csv: (
      query: Omit<Query<'getAnalytics'>, 'format'> = {},
      options: CallOptions = {},
    ): Promise<string> => {
      const call = { method: 'GET', path: '/analytics', query: { ...query, format: 'csv' } };
      return send(this.#options, { ...call, repeat: 'safe' }, options, (response) =>
        response.text(),
      );
    },
    channels: this.#method<'getChannelAnalytics'>('GET /analytics/channels', 'query'),
    bestTimes: this.#method<'getBestTimes'>('GET /analytics/best-times', 'query'),
    history: this.#method<'getPostHistory'>('GET /analytics/{post_id}/history', 'query'),
    /** Reads a post's metrics from its networks now. */
    refresh: this.#method<'refreshAnalytics'>('POST /analytics/refresh', 'body'),
  };

  readonly webhooks = {
    /** Registers an endpoint. The answer has its signing secret, this once. */
    create: this.#method<'createWebhook'>('POST /webhooks', 'body', 'by key'),
    list: this.#method<'listWebhooks'>('GET /webhooks'),
    get: this.#method<'getWebhook'>('GET /webhooks/{id}'),
    edit: this.#method<'updateWebhook'>('PATCH /webhooks/{id}', 'body', 'safe'),
    delete: this.#method<'deleteWebhook'>('DELETE /webhooks/{id}'),
    /** Begins to replace the signing secret. */
    rotate: this.#method<'rotateWebhookSecret'>('POST /webhooks/{id}/rotate'),
    /** Sends a test event, and waits for the endpoint's answer. */
    test: this.#method<'testWebhook'>('POST /webhooks/{id}/test'),
    deliveries: (id: string, query?: Query<'listDeliveries'>, options?: CallOptions) =>
      this.#list<'listDeliveries', Schemas['Delivery']>(
        withIds('/webhooks/{id}/deliveries', [id]),
        byCursor(({ deliveries }) => deliveries),
      )(query, options),
    /** Delivers one event again. */
    replay: this.#method<'replayDelivery'>('POST /webhooks/{id}/deliveries/{delivery}/replay'),
    /** Delivers all failed and waiting events since a time again. */
    replayFailed: this.#method<'replayFailedDeliveries'>('POST /webhooks/{id}/replay', 'query'),
  };

  readonly events = {
    /** The events after one; `wait` waits for new ones. */
    list: this.#list<'listEvents', Answer<'listEvents'>['events'][number]>('/events', {
      items: ({ events }) => events,
      next: ({ has_more: more, next_after: after }) => (more ? { after } : null),
    }),
    get: this.#method<'getEvent'>('GET /events/{id}'),
  };

  readonly keys = {
    /** Makes an API key. The answer has it, this once. */
    create: this.#method<'createKey'>('POST /keys', 'body', 'by key'),
    list: this.#method<'listKeys'>('GET /keys'),
    edit: this.#method<'editKey'>('PATCH /keys/{id}', 'body', 'safe'),
    revoke: this.#method<'revokeKey'>('DELETE /keys/{id}'),
  };

  readonly audit = {
    /** Changes in the workspace, with who made them. */
    list: this.#list<'listAuditEntries', Schemas['AuditEntry']>(
      '/audit',
      byCursor(({ entries }) => entries),
    ),
  };

  /** Calls of an operator key. */
  readonly workspaces = {
    create: this.#method<'createWorkspace'>('POST /workspaces', 'body', 'by key'),
    get: this.#method<'readWorkspace'>('GET /workspaces/{id}'),
    list: this.#list<'listWorkspaces', Schemas['Workspace']>(
      '/workspaces',
      byCursor(({ workspaces }) => workspaces),
    ),
    edit: this.#method<'editWorkspace'>('PATCH /workspaces/{id}', 'body', 'safe'),
    delete: this.#method<'deleteWorkspace'>('DELETE /workspaces/{id}'),
    createKey: this.#method<'createWorkspaceKey'>('POST /workspaces/{id}/keys', 'body', 'by key'),
  };

  /**
   * @param call Method and path, as in the OpenAPI document.
   * @param input What follows the ids of the path among the arguments.
   */
  #method<O extends OperationId>(
    call: string,
    input?: 'body' | 'query',
    repeat?: Repeat,
  ): Method<O> {
    const [method = '', template = ''] = call.split(' ');
    const ids = template.split('{').length - 1;
    return (...args: readonly unknown[]) => {
      const path = withIds(template, args.slice(0, ids));
      const given = input && args[ids];
      const options = args[input ? ids + 1 : ids] as CallOptions | undefined;
      const sent = input === 'query' ? { query: given as Call['query'] } : { body: jsonOf(given) };
      const usual = method === 'GET' ? 'safe' : 'never';
      return this.#send<Answer<O>>({ method, path, ...sent, repeat: repeat ?? usual }, options);
    };
  }

  #list<O extends OperationId, Item>(
    path: string,
    paging: Paging<Answer<O>, Item, Query<O>>,
  ): ListOf<O, Item> {
    return (given, options) =>
      listOf(
        (query: Query<O>) => this.#send({ method: 'GET', path, query, repeat: 'safe' }, options),
        paging,
        given,
      );
  }

  #send<Result>(call: Call, options: CallOptions = {}): Promise<Result> {
    return send(this.#options, call, options, (response) => response.json() as Promise<Result>);
  }
}

/** @throws TypeError for what cannot be an id, and would call another path. */
function withIds(template: string, ids: readonly unknown[]): string {
  const rest = [...ids];
  return template.replaceAll(/\{\w+\}/gv, (name) => {
    const id = rest.shift();
    if (typeof id !== 'string' || !/^[\w\-]+$/v.test(id)) {
      throw new TypeError(`${template} needs an id instead of ${String(id)} as ${name}.`);
    }

    return id;
  });
}

const jsonOf = (value: unknown): Call['body'] =>
  value === undefined
    ? undefined
    : { value: JSON.stringify(value, sendable), type: 'application/json' };

/** @throws TypeError for what JSON makes null: a post with such a time would be a draft. */
function sendable(this: unknown, name: string, value: unknown): unknown {
  const given = (this as Readonly<Record<string, unknown>>)[name]; // An invalid Date becomes null.
  if (value === null ? given !== null : typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError(`${name} is ${given}.`);
  }

  return value;
}
