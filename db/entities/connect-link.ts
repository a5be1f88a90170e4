import { defineEntity, p } from '@mikro-orm/core';
import { Channel } from './channel.ts';
import { createdAt, id, instant } from './columns.ts';
import { Workspace } from './workspace.ts';

/**
 * - `open`: the person has not continued from its page.
 * - `authorizing`: a browser is at the network.
 * - `redeeming`: the network's response is being redeemed. It is never redeemed twice.
 * - `choosing`: the person has to choose one of several accounts.
 * - `connected`, `failed`: the link is used up.
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
    /** The channel whose account has to be connected; null for any account. The link is deleted with the channel. */
    channelId: () =>
      p.manyToOne(Channel).mapToPk().name('channel_id').deleteRule('cascade').strictNullable(),
    /** Values that the caller provided: a server, a handle. */
    values: p.json<Readonly<Record<string, string>>>(),
    atSandbox: p.boolean(),
    returnUrl: p.text().strictNullable(),
    status: p.text().$type<ConnectStatus>(),
    /** SHA-256 of the `state` that the network's response must carry, in hex. */
    stateHash: p.text().unique().strictNullable(),
    /** SHA-256 of the cookie of the browser that went to the network, in hex. */
    browserHash: p.text().strictNullable(),
    redirectUri: p.text().strictNullable(),
    /** Data for the next step: the code verifier, or the grant with its accounts while a person chooses. */
    sealedFlow: p.text().strictNullable(),
    connectedId: () => p.manyToOne(Channel).mapToPk().name('connected_id').strictNullable(),
    /** Why the link or the last attempt failed, for the person. */
    error: p.text().strictNullable(),
    /** Code of `error`, for programs. */
    errorCode: p.text().strictNullable(),
    /** Number of secrets entered on its page that were refused. */
    refusedSecrets: p.integer().default(0),
    expiresAt: instant().index(),
    createdAt: createdAt(),
  },
});

/** A link by which a person connects an account to a workspace, once. */
export class ConnectLink extends ConnectLinkSchema.class {}
ConnectLinkSchema.setClass(ConnectLink);
