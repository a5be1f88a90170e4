/** The types of the activities as the previous version's workflows called them. */

export type Activities = {
  readonly claimPost: (request: {
    readonly workspaceId: string;
    readonly postId: string;
    readonly nowMs: number;
  }) => Promise<Claim>;
  readonly publishChannel: (request: {
    readonly workspaceId: string;
    readonly postId: string;
    readonly postChannelId: string;
  }) => Promise<{ readonly status: string; readonly deliveryIds: readonly string[] }>;
  readonly finalizePost: (request: {
    readonly workspaceId: string;
    readonly postId: string;
    readonly revision: number;
    readonly canceled: boolean;
    readonly claimed?: number;
  }) => Promise<{
    readonly status: 'published' | 'failed' | 'draft' | 'gone';
    readonly deliveryIds: readonly string[];
  }>;
  readonly attemptDelivery: (request: {
    readonly workspaceId: string;
    readonly deliveryId: string;
  }) => Promise<'delivered' | 'failed' | 'gone'>;
};

type Claim =
  | { readonly kind: 'go'; readonly targets: readonly Target[]; readonly revision: number }
  | { readonly kind: 'not_due'; readonly revision: number; readonly dueAt: string }
  | { readonly kind: 'gone' };

type Target = {
  readonly postChannelId: string;
  readonly channelId: string;
  readonly network: string;
};
