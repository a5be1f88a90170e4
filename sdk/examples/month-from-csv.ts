// Schedules the lines of a CSV file in local time: node month-from-csv.ts posts.csv Europe/Berlin
// Columns: id, day (2027-03-01), time (09:00), text. Run it again after you changed the file: new lines are
// added, scheduled posts are edited, and nothing is posted twice, because the id is the post's external_id.
import { readFile } from 'node:fs/promises';
import { Punctual, PunctualError } from '@punctual/client';

const punctual = new Punctual({
  apiKey: process.env['PUNCTUAL_API_KEY'] ?? '',
  baseUrl: process.env['PUNCTUAL_URL'] ?? 'http://127.0.0.1:3000',
});
const [file = 'posts.csv', timezone = 'Europe/Berlin'] = process.argv.slice(2);

/** The fields of a CSV text; a quoted field may contain commas, quotes and lines. */
function* lines(csv: string): Generator<string[]> {
  let line: string[] = [];
  for (const [, quoted, plain, end] of csv.matchAll(
    /(?:"((?:[^"]|"")*)"|((?:[^",\r\n][^,\r\n]*)?))(,|\r?\n|$)/g,
  )) {
    line.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end !== ',') {
      if (line.length > 1) {
        yield line;
      }

      line = [];
    }
  }
}

const { channels } = await punctual.channels.list();
// YouTube takes no text without a video.
const channel_ids = channels.filter(({ platform }) => platform !== 'youtube').map(({ id }) => id);

async function schedule([id = '', day = '', time = '', body = '']: string[]): Promise<string> {
  const fields = { body, scheduled_at: `${day}T${time}`, timezone };
  const { posts } = await punctual.posts.list({ external_id: id });
  const [post] = posts;
  if (!post) {
    await punctual.posts.create({ ...fields, channel_ids, external_id: id });
    return 'scheduled';
  }

  if (post.status === 'scheduled') {
    await punctual.posts.edit(post.id, fields);
    return 'up to date';
  }

  return post.status;
}

const [columns = [], ...rows] = lines(await readFile(file, 'utf8'));
for (const line of [columns, ...rows]) {
  if (line.length !== 4) {
    throw new Error(`Columns are not id,day,time,text; texts with commas need quotes: ${line}`);
  }
}

for (const row of rows) {
  try {
    console.log(`${row[0]}: ${await schedule(row)}`);
  } catch (error) {
    if (!(error instanceof PunctualError)) {
      throw error;
    }

    console.error(`${row[0]}: ${error.message}`);
    process.exitCode = 1;
  }
}
