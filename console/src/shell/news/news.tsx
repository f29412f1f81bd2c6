import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useSyncExternalStore } from 'react'
import { organizationQuery, useSession } from '../../api/session.ts'
import { useEventStream } from '../../api/use-event-stream.ts'
import { useToasts } from '../../components/toast.tsx'
import type { DeploymentNews } from '../../contract.ts'
import { showNotification } from '../../domain/notifications.ts'
import { text } from '../../text/index.ts'
import { NewsMarks } from './mark.tsx'
import markedIcon from './marked-icon.svg'
import { learnNews, markSeen } from './news-state.ts'
import type { Headline } from './news-state.ts'
import { useNews } from './use-news.ts'

/** Tells what becomes of the person's deployments while the tab is visible. */
export function News() {
  const { user } = useSession()
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const owner = `${user.id}/${organization.id}`
  const { state, read, change, reload } = useNews(owner)
  const queryClient = useQueryClient()
  const tell = useTell()
  const path = useLocation({ select: ({ pathname }) => pathname })
  const isLookedAt = useSyncExternalStore(followFocus, hasFocus)

  useEventStream('/v1/events', {
    input: {},
    event: 'deployment',
    enabled: state !== undefined,
    sources: owner,
    onItem: (item) => {
      const before = read()
      if (before === undefined) return
      const { state: after, headline } = learnNews(before, item)
      change(after)
      if (before.known[item.deployment_id]?.status !== item.status) {
        void queryClient.invalidateQueries({ queryKey: ['deployments'] })
      }
      const isShown = isLookedAt && path === `/deployments/${item.deployment_id}`
      if (headline !== null && !isShown) tell(item, headline)
    },
    onOpen: reload,
    // An ended session refuses the stream too. The 401 of this request leads to the sign-in page.
    onLost: (times) => {
      if (times < 3) return
      void queryClient.invalidateQueries({ queryKey: organizationQuery.queryKey })
    },
  })

  useEffect(() => {
    const [, list, id = null] = /^\/(deployments)(?:\/([^/]+))?$/.exec(path) ?? []
    if (state === undefined || !isLookedAt || list === undefined) return
    const seen = markSeen(state, id)
    if (seen !== state) change(seen)
  }, [state, change, path, isLookedAt])
  const count = state?.unseen.length ?? 0
  useMarks(count)
  return <NewsMarks count={count} />
}

function useTell() {
  const toasts = useToasts()
  const navigate = useNavigate()
  return ({ deployment_id: id, name, foreign_act: act }: DeploymentNews, headline: Headline) => {
    const sentence = text.news.headlines[headline](name, act?.by ?? '')
    const run = () => void navigate({ to: '/deployments/$deploymentId', params: { deploymentId: id } })
    toasts.tell(headline === 'failed' ? 'bad' : 'good', sentence, { label: text.news.open, run })
    if (!hasFocus()) showNotification(sentence, id, run)
  }
}

const hasFocus = () => document.visibilityState === 'visible' && document.hasFocus()

function followFocus(onChange: () => void) {
  const leaving = new AbortController()
  for (const event of ['focus', 'blur']) window.addEventListener(event, onChange, leaving)
  document.addEventListener('visibilitychange', onChange, leaving)
  return () => leaving.abort()
}

/** Marks the title and the icon of the tab while news wait to be seen. */
function useMarks(count: number) {
  useEffect(() => {
    if (count === 0) return
    const addMark = () => {
      const marked = `(${count}) ${removeMark(document.title)}`
      if (document.title !== marked) document.title = marked
    }
    addMark()
    // Each page sets its own title.
    const observer = new MutationObserver(addMark)
    observer.observe(document.head, { childList: true, subtree: true, characterData: true })
    const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
    const usual = icon?.getAttribute('href')
    icon?.setAttribute('href', markedIcon)
    return () => {
      observer.disconnect()
      document.title = removeMark(document.title)
      if (usual) icon?.setAttribute('href', usual)
    }
  }, [count])
}

const removeMark = (title: string) => title.replace(/^\(\d+\) /, '')
