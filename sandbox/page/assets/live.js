// Updates the page: on each event from the server, fetches the page again and replaces only changed elements, so that
// nothing flickers and a selection stays.

const timeline = document.querySelector('#timeline');
const live = document.querySelector('.live');
const refreshMs = 15_000; // Interval for the relative times.

function ageOf(time) {
  const seconds = Math.round((Date.now() - time) / 1000);
  if (seconds < 5) return 'now';
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 60 * 60) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 24 * 60 * 60) return `${Math.floor(seconds / 3600)}h`;
  return time.toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
}

function showTimes(root) {
  for (const element of root.querySelectorAll('time')) {
    const time = new Date(element.dateTime);
    if (!Number.isNaN(time.getTime())) {
      element.textContent = ageOf(time);
      element.title = time.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' });
    }
  }
}

/** Replaces the children of `shown` with those of `fresh`, but keeps elements with the same id and `data-v`. */
function merge(shown, fresh) {
  const known = new Map([...shown.children].map((child) => [child.id, child]));
  const wanted = [...fresh.children].map((child) => {
    const old = known.get(child.id);
    if (old === undefined || old.dataset.v !== child.dataset.v) {
      child.classList.add('new');
      return child;
    }
    if (old.dataset.v === undefined) {
      merge(old, child);
    }
    return old;
  });
  for (const child of known.values()) {
    if (!wanted.includes(child)) child.remove();
  }
  let place = shown.firstElementChild;
  for (const child of wanted) {
    if (child === place) place = place.nextElementSibling;
    else shown.insertBefore(child, place);
  }
}

let isFetching = false;
let isStale = false;
async function refresh() {
  isStale = true;
  if (isFetching) return;
  isFetching = true;
  while (isStale) {
    isStale = false;
    // oxlint-disable-next-line no-restricted-globals -- A browser has no egress; it asks its own server.
    const answer = await fetch(location.href).catch(() => undefined); // The next event retries.
    if (answer?.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.querySelector('#timeline');
      showTimes(fresh);
      merge(timeline, fresh);
    }
  }
  isFetching = false;
}

function showState(isOpen) {
  live.textContent = isOpen ? 'Live' : 'Reconnecting…';
  live.classList.toggle('on', isOpen);
}

showTimes(document);
setInterval(() => showTimes(document), refreshMs);
document.querySelector('[aria-current="true"]')?.scrollIntoView({ block: 'center' });

const events = new EventSource('/events');
events.addEventListener('open', () => {
  showState(true);
  refresh(); // Changes may have been missed.
});
events.addEventListener('message', refresh);
events.addEventListener('error', () => showState(false));
