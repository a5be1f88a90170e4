import { blueskyAccount, mastodonAccount } from '../accounts.ts';
import { failureTags } from '../failures.ts';
import { html, type Html } from '../html.ts';

/** What stands beside the timeline: how to make a post fail, and how to sign in. @param origin This server's address. */
export function asideView(origin: string): Html {
  const failures = failureTags.map(
    ({ tag, effect }) =>
      html`<dt><code>${tag}</code></dt>
        <dd>${effect}</dd>`,
  );
  return html`<aside>
    <section class="box">
      <h2>Try a failure</h2>
      <p>Write one of these into a post’s text and see what becomes of it.</p>
      <dl>${failures}</dl>
    </section>
    <section class="box">
      <h2>Sign in</h2>
      <h3 class="mastodon">Mastodon</h3>
      <dl class="facts">
        <dt>Server</dt>
        <dd><code>${origin}</code></dd>
        <dt>Access token</dt>
        <dd><code>${mastodonAccount.accessToken}</code></dd>
      </dl>
      <h3 class="bluesky">Bluesky</h3>
      <dl class="facts">
        <dt>Server</dt>
        <dd><code>${origin}</code></dd>
        <dt>Web address</dt>
        <dd>
          <code>${origin}<wbr />/bluesky</code>
        </dd>
        <dt>Handle</dt>
        <dd><code>${blueskyAccount.handle}</code></dd>
        <dt>App password</dt>
        <dd><code>${blueskyAccount.appPassword}</code></dd>
      </dl>
    </section>
  </aside>`;
}
