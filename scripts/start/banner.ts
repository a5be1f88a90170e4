import type { Demo } from './prepare-database.ts';

/** Where everything is, once all of it runs. */
export type Addresses = {
  readonly api: string;
  readonly sandbox: string;
  /** Undefined when Temporal is the user's own and its Web UI is not known. */
  readonly temporalUi: string | undefined;
};

/** What `npm start` shows when all is ready. */
export function banner(addresses: Addresses, demo: Demo, seconds: number, logs: string): string {
  const { api, sandbox, temporalUi } = addresses;
  const rows = [
    ['API', `${api}/api/v1`],
    ['Docs', `${api}/docs`],
    ['Temporal UI', temporalUi ?? 'of your own server (PUNCTUAL_TEMPORAL_UI_URL is not set)'],
    ['Sandbox', `${sandbox}/ (what the demo channels post appears here)`],
    ['API key', `${demo.apiKey} (of the demo workspace)`],
  ];
  const width = Math.max(...rows.map(([name = '']) => name.length)) + 2;
  const table = rows.map(([name = '', value]) => `  ${name.padEnd(width)}${value}`).join('\n');
  return [
    `\nPunctual is ready (${seconds.toFixed(1)} s).\n`,
    table,
    '\nSchedule a post to the demo channels that take a text, six seconds ahead:\n',
    curl(api, demo),
    `\nLogs are in ${logs}. Ctrl-C stops everything; "npm start" goes on from there.\n`,
  ].join('\n');
}

/** Ready to paste. */
function curl(api: string, { apiKey, channels }: Demo): string {
  const texts = channels.filter(({ takesText }) => takesText);
  const ids = texts.map(({ id }) => `"${id}"`).join(', ');
  const body = `{"body": "Hello from Punctual", "channel_ids": [${ids}], "schedule_in_minutes": 0.1}`;
  return [
    `curl -X POST ${api}/api/v1/posts \\`,
    `  -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n');
}
