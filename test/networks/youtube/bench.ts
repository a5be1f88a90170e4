import { randomInt } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { youtube_v3 } from '@googleapis/youtube';
import type { Options } from '../../../networks/content-rules.ts';
import type { Account, ThreadPart } from '../../../networks/network.ts';
import { connectYoutube } from '../../../networks/youtube/connect.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../../sandbox/server.ts';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { inputFile } from '../../support/input-file.ts';
import { lossyProxy, type Answer } from '../../support/lossy-proxy.ts';
import type { Bench, LivePost } from '../bench.ts';
import { egressTo, openConnection } from '../connection.ts';
import { fileOf, playableVideo, type TestPartMedia } from '../files.ts';

export const videoOptions: Options = { title: 'A film', made_for_kids: false };

/** A new sandbox, with its channel connected. */
export async function openYoutube(t: ExecutionContext, options: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({ host: '127.0.0.1', port: 0, ...options });
  t.teardown(() => sandbox.close());
  const baseUrl = `${sandbox.url}/youtube`;
  const login = { baseUrl, accessToken: 'demo' };
  const account: Account = await connectYoutube(egressTo(t, baseUrl), login);
  return { sandbox, account, stored: sandboxReader(sandbox) };
}

/** An error of Google's APIs. */
export const google = (status: number, reason: string, message = 'No.'): Answer => ({
  status,
  body: JSON.stringify({ error: { code: status, message, errors: [{ message, reason }] } }),
});

/** A new sandbox behind a proxy that can fail. */
export async function throughProxy(t: ExecutionContext) {
  const server = await openYoutube(t);
  const proxy = await lossyProxy(t, server.account.baseUrl);
  const connection = openConnection(t, server.account, { baseUrl: proxy.url });
  return { ...server, proxy, connection };
}

/** The channel through another client. */
function sandboxReader({ url }: Sandbox) {
  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${url}/youtube/youtube/v3/${path}`, {
      headers: { authorization: 'Bearer demo' },
    });
    return (await response.json()) as T;
  };
  const uploads = async (): Promise<youtube_v3.Schema$Video[]> => {
    const list = 'playlistItems?part=snippet&maxResults=50&playlistId=UUsandboxDemoChannel0000';
    const { items = [] } = await get<youtube_v3.Schema$PlaylistItemListResponse>(list);
    const ids = items.map(({ snippet }) => snippet?.resourceId?.videoId ?? '').toReversed();
    if (ids.length === 0) {
      return [];
    }
    const { items: videos = [] } = await get<youtube_v3.Schema$VideoListResponse>(
      `videos?part=snippet,status&id=${ids.join(',')}`,
    );
    return videos;
  };
  const comments = async (videoId: string): Promise<youtube_v3.Schema$CommentThread[]> => {
    const { items = [] } = await get<youtube_v3.Schema$CommentThreadListResponse>(
      `commentThreads?part=snippet&videoId=${videoId}`,
    );
    return items.toReversed();
  };
  return { uploads, comments };
}

/** A post: a video, and a comment if there is a second text. */
export async function filmParts(
  texts: readonly string[],
  given: { readonly file?: TestPartMedia; readonly options?: Options } = {},
): Promise<ThreadPart[]> {
  const { file = await anyVideo(), options } = given;
  const run = crypto.randomUUID().slice(0, 18);
  return texts.map((text, index) => ({
    key: `${run}-${index}`,
    text,
    media: index === 0 ? [file] : [],
    options: { ...videoOptions, ...options },
  }));
}

/** A unique video. */
export const anyVideo = (): Promise<TestPartMedia> =>
  playableVideo('clip.webm', 2 * randomInt(8, 400), 2 * randomInt(8, 400));

const picture = fileOf(inputFile('jpeg-with-gps.jpg'), {
  id: '7d0c6a0e-4a52-4b0e-9d7c-0f6c3b8f1a11',
  name: 'thumbnail.jpg',
  type: 'image/jpeg',
  width: 320,
  height: 240,
});

/** YouTube on the sandbox, read without our adapter. */
export const bench: Bench = {
  network: youtubeNetwork,
  shape: {
    needsFile: true,
    parts: (texts, [file] = []) => filmParts(texts, file ? { file } : {}),
    makeFiles: async () => [await anyVideo()],
    essenceOf: async (bytes) => bytes,
  },
  creates: { method: 'PUT', path: /\/upload\/youtube\/v3\/videos\?/ },
  deletes: { method: 'DELETE', path: /\/youtube\/v3\/videos\?/ },
  uploads: { method: 'POST', path: /\/upload\/youtube\/v3\/videos\?/ },
  tooLong: 'x'.repeat(5001),
  wrongCredentials: { accessToken: 'a-token-that-nobody-granted' },
  resetHeaders: (resetAtMs) => ({ 'retry-after': new Date(resetAtMs).toUTCString() }),
  options: [
    { chosen: { title: 'Of the option' }, shown: { title: 'Of the option' } },
    { chosen: { privacy: 'unlisted' }, shown: { privacyStatus: 'unlisted' } },
    { chosen: { privacy: 'private' }, shown: { privacyStatus: 'private' } },
    { chosen: { made_for_kids: true }, shown: { selfDeclaredMadeForKids: true } },
    { chosen: { tags: ['one', 'two words'] }, shown: { ownTags: ['one', 'two words'] } },
    { chosen: { category: '27' }, shown: { categoryId: '27' } },
    { chosen: { synthetic_media: true }, shown: { containsSyntheticMedia: true } },
    // The ledger makes the comment a second part, like the suite's threads.
    { chosen: { first_comment: 'First' }, shown: { title: 'A film' } },
    {
      chosen: { thumbnail: picture.id },
      optionFiles: { thumbnail: picture },
      shown: { thumbnail: picture.bytes.length },
    },
  ],

  async makeAccount(t) {
    const { account, sandbox, stored: look } = await openYoutube(t);
    return {
      account,
      posts: async () => {
        const posts: LivePost[] = [];
        for (const { id, snippet } of await look.uploads()) {
          posts.push({ remoteId: id ?? '', text: snippet?.description ?? '', parentId: null });
          for (const comment of await look.comments(id ?? '')) {
            const text = comment.snippet?.topLevelComment?.snippet?.textOriginal ?? '';
            posts.push({ remoteId: comment.id ?? '', text, parentId: id ?? '' });
          }
        }
        return posts;
      },
      textAt: async (url) => (await fetch(url)).text(),
      filesOf: async (id) => filesAt(sandbox, id, 'video'),
      altTextsOf: async () => [],
      choicesOf: async (id) => {
        const video = (await look.uploads()).find((one) => one.id === id);
        const ownTags = video?.snippet?.tags?.filter((tag) => !tag.startsWith('punctual-'));
        const [thumbnail] = await filesAt(sandbox, id, 'img');
        return {
          ...video?.snippet,
          ...video?.status,
          ownTags,
          thumbnail: thumbnail?.length,
        };
      },
    };
  },
};

/** The files on a post's page. */
async function filesAt({ url }: Sandbox, id: string, element: 'video' | 'img'): Promise<Buffer[]> {
  const page = await (await fetch(`${url}/youtube/watch?v=${encodeURIComponent(id)}`)).text();
  const [, post = ''] = page.split(`id="youtube-${id}"`);
  const [own = ''] = post.split('</article>');
  const paths = [...own.matchAll(new RegExp(`<${element} src="(/files/[^"]+)"`, 'gv'))];
  return Promise.all(
    paths.map(async ([, path = '']) => {
      const response = await fetch(url + path);
      return Buffer.from(await response.arrayBuffer());
    }),
  );
}
