import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { organizationQuery, useSession } from '../../api/session.ts'
import { useDocumentTitle } from '../../components/page.tsx'
import { SegmentedControl } from '../../components/segmented-control.tsx'
import { ErrorState, Skeleton } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { ChatView } from './chat-view.tsx'
import { clearComparison } from './comparison.ts'
import { clearOnOwnerChange } from './clear-on-owner-change.ts'
import { EmbeddingsView, RerankView } from './lazy-parts.ts'
import { clearConversation } from './load-asking.ts'
import { playgroundViews, usePlaygroundTargets } from './queries.ts'
import type { PlaygroundView } from './queries.ts'
import { forgetSavedConversation, keepConversation } from './saved-conversation.ts'
import { ViewFrame } from './view-frame.tsx'

const views = { chat: ChatView, embeddings: EmbeddingsView, rerank: RerankView }

/** Chat with up to four deployments, compare embedded texts, or rank documents. */
export function PlaygroundPage() {
  useDocumentTitle(text.pages.playground.title)
  useClearOnOwnerChange()
  const search = useSearch({ from: '/app/playground' })
  const [isSwitched, setSwitched] = useState(false)
  const navigate = useNavigate({ from: '/playground' })
  const { targets, error, retry } = usePlaygroundTargets()
  const ids = [...new Set(search.deployment?.split(',').filter(Boolean))]
  const isOfFirst = (one: PlaygroundView) => targets?.[one].some(({ id }) => id === ids[0])
  const view =
    playgroundViews.find((one) => (search.tab === undefined ? isOfFirst(one) : one === search.tab)) ?? 'chat'
  const choose = (chosen: readonly string[]) =>
    void navigate({ search: { tab: search.tab, deployment: chosen.join(',') }, replace: true })
  const heading = (
    <>
      <h1 id="heading" className="text-xl font-semibold tracking-tight">
        {text.pages.playground.title}
      </h1>
      <div ref={isSwitched ? focusChosen : undefined}>
        <SegmentedControl
          label={text.playground.view}
          value={view}
          onValueChange={(tab) => {
            setSwitched(true)
            void navigate({ search: { tab } })
          }}
          options={playgroundViews.map((value) => ({ value, label: text.playground.views[value] }))}
        />
      </div>
    </>
  )
  const View = views[view]
  const loading = (
    <ViewFrame heading={heading}>
      <LoadingView />
    </ViewFrame>
  )
  return (
    <div data-fills-window className="flex h-0 min-h-[30rem] grow">
      {targets ? (
        <Suspense fallback={loading}>
          <View heading={heading} targets={targets[view]} names={targets.names} ids={ids} onChoose={choose} />
        </Suspense>
      ) : error ? (
        <ViewFrame heading={heading}>
          <ErrorState error={error} onRetry={retry} />
        </ViewFrame>
      ) : (
        loading
      )}
    </div>
  )
}

/** Each view has its own control, so that the focus in one ends with it. */
function focusChosen(control: HTMLElement | null) {
  control?.querySelector<HTMLInputElement>('input:checked')?.focus()
}

/** Clears the conversation before another person can see it. */
function useClearOnOwnerChange() {
  const queryClient = useQueryClient()
  const { user } = useSession()
  const { data: organization } = useSuspenseQuery(organizationQuery)
  useEffect(() => {
    clearOnOwnerChange(queryClient, { userId: user.id, organizationId: organization.id }, () => {
      clearConversation()
      clearComparison()
      forgetSavedConversation()
    })
    keepConversation(`${user.id} ${organization.id}`)
  }, [queryClient, user.id, organization.id])
}

function LoadingView() {
  return (
    <div
      role="status"
      aria-label={text.common.loading}
      className="flex min-h-0 flex-1 flex-col gap-4 px-4 pb-4 sm:px-8"
    >
      <Skeleton className="h-9 w-64" />
      <Skeleton className="mx-auto mt-auto h-28 w-full max-w-3xl rounded-xl" />
    </div>
  )
}
