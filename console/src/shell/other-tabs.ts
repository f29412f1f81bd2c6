import type { QueryClient } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import type { AppRouter } from '../router.tsx'
import { isInside, signInAgain } from './sign-in-again.ts'

/** What became of the session that all tabs of a browser share: it ended, or works in another organization. */
type Change = 'ended' | 'switched'

let channel: BroadcastChannel | undefined
const openChannel = () => (channel ??= new BroadcastChannel('session'))

/** Tells the browser's other tabs what this one did with their session. */
export function tellOtherTabs(change: Change) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  openChannel().postMessage(change)
}

/** Keeps nothing in sight, nor in a form, that stopped being one's own by what another tab did. */
export function followOtherTabs(queryClient: QueryClient, router: AppRouter) {
  openChannel().addEventListener('message', ({ data }: MessageEvent<Change>) => {
    if (data === 'switched') return void startOver(queryClient, router)
    queryClient.setQueryData(sessionQuery.queryKey, null)
    signInAgain(router)
  })
}

/** The page that is shown, and what was typed into it, may belong to the organization that was left. */
async function startOver(queryClient: QueryClient, router: AppRouter) {
  if (isInside(router)) await router.navigate({ to: '/deployments' })
  await queryClient.resetQueries()
}
