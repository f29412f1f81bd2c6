import { Suspense } from 'react'
import { useSession } from '../../api/session.ts'
import { LoadingPage } from '../../components/loading-page.tsx'
import { NotFoundPage } from '../../components/not-found-page.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'

const ServerView = lazyPart(() => import('./server-view.tsx').then((module) => module.ServerView))

/** What operators see of the whole installation; for everybody else there is no such page. */
export function ServerPage() {
  const { user } = useSession()
  if (!user.operator) return <NotFoundPage />
  return (
    <Suspense fallback={<LoadingPage />}>
      <ServerView />
    </Suspense>
  )
}
