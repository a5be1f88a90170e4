import type { History } from '@temporalio/common/lib/proto-utils.js';

type HistoryEvent = NonNullable<History['events']>[number];

/** An event in words, by what a person sees of it in Temporal's Web UI. */
export function whatHistoryHas(event: HistoryEvent): string {
  const [kind = 'nothing', attributes] =
    Object.entries(event).find(([key, value]) => key.endsWith('EventAttributes') && value) ?? [];
  const name = kind
    .replace(/EventAttributes$/v, '')
    .replaceAll(/[A-Z]/gv, ' $&')
    .toLowerCase();
  const { activityType, workflowType, markerName, timerId } = (attributes ?? {}) as Attributes;
  const what = activityType?.name ?? workflowType?.name ?? markerName;
  const detail = what ?? (timerId ? `timer ${timerId}` : undefined);
  return detail ? `${name} (${detail})` : name;
}

type Attributes = {
  readonly activityType?: { readonly name?: string } | null;
  readonly workflowType?: { readonly name?: string } | null;
  readonly markerName?: string | null;
  readonly timerId?: string | null;
};

/** What the code does, by the names of Temporal's machines in its messages, without spaces and in lower case. */
const doings: Readonly<Record<string, string>> = {
  activity: 'begins an activity',
  cancelexternalwf: 'cancels another workflow',
  cancelworkflow: 'ends as cancelled',
  childworkflow: 'begins a child workflow',
  completeworkflow: 'ends',
  continueasnewworkflow: 'continues as new',
  failworkflow: 'fails',
  localactivity: 'takes a step of its own (a local activity)',
  modifyworkflowproperties: 'changes its memo',
  patch: 'asks patched()',
  signalexternalwf: 'signals another workflow',
  timer: 'begins to wait',
  upsertworkflowsearchattributes: 'changes its search attributes',
};

const machine = /error: (?<machine>[A-Za-z ]+?) ?[Mm]achine does not handle/v;
const otherType = /(?<what>Child workflow|[Aa]ctivity) type of .* command '(?<name>[^']*)'/v;

/** What the code does where the history has something else, as far as Temporal's words tell. */
export function whatCodeDoes(said: string): string {
  const name = machine.exec(said)?.groups?.['machine'];
  if (name) {
    return `${doings[name.replaceAll(' ', '').toLowerCase()] ?? name} there`;
  }

  const other = otherType.exec(said)?.groups;
  if (other) {
    const what = other['what'] === 'Child workflow' ? 'a child workflow' : 'an activity';
    return `begins ${what} "${other['name']}" there`;
  }

  return said.includes('No command scheduled') ? 'does nothing there' : 'says no more';
}
