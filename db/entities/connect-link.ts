import { defineEntity, p } from '@mikro-orm/core';
import { Channel } from './channel.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

/**
 * - `open`: nobody went on from its page.
 * - `authorizing`: a browser is at the network.
 * - `redeeming`: the network's answer came, and is being redeemed. It is never redeemed twice.
 * - `choosing`: the person has to say which of several accounts it is.
 * - `connected`, `failed`: it is used up.
 */
const connectStatuses = [
  'open',
  'authorizing',
  'redeeming',
  'choosing',
  'connected',
  'failed',
] as const;
export type ConnectStatus = (typeof connectStatuses)[number];

export const ConnectLinkSchema = defineEntity({
  name: 'ConnectLink',
  tableName: 'connect_links',
  properties: {
    id: id(),
    workspaceId: () => p.manyToOne(Workspace).mapToPk().name('workspace_id').index(),
    platform: p.text(),
    /** SHA-256 of the secret in the link, in hex. */
    tokenHash: p.text().unique(),
    /** The channel whose account has to be the one that is connected; null for any account. The link goes with it. */
    channelId: () =>
      p.manyToOne(Channel).mapToPk().name('channel_id').deleteRule('cascade').strictNullable(),
    /** What the caller said beforehand: a server, a handle. */
    values: p.json<Readonly<Record<string, string>>>(),
    atSandbox: p.boolean(),
    returnUrl: p.text().strictNullable(),
    status: p.text().$type<ConnectStatus>(),
    /** SHA-256 of the `state` that the network's answer has to carry, in hex. */
    stateHash: p.text().unique().strictNullable(),
    /** SHA-256 of the cookie of the browser that went to the network, in hex. */
    browserHash: p.text().strictNullable(),
    redirectUri: p.text().strictNullable(),
    /** What the next step needs: the code verifier, or the grant with its accounts while a person chooses. */
    sealedFlow: p.text().strictNullable(),
    connectedId: () => p.manyToOne(Channel).mapToPk().name('connected_id').strictNullable(),
    /** Why it failed, or the last try did, for the person. */
    error: p.text().strictNullable(),
    /** The same for programs. */
    errorCode: p.text().strictNullable(),
    /** How many secrets that were typed on its page were refused. */
    refusedSecrets: p.integer().default(0),
    expiresAt: instant().index(),
    createdAt: createdAt(),
  },
});

/** A link by which a person connects an account to a workspace, once. */
export class ConnectLink extends ConnectLinkSchema.class {}
ConnectLinkSchema.setClass(ConnectLink);
