import { getRouteApi } from '@tanstack/react-router'
import { Users } from 'lucide-react'
import { Suspense } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'

const ShareDialog = lazyPart(() => import('./share-dialog.tsx').then((module) => module.ShareDialog))

const words = text.deployment.sharing
const route = getRouteApi('/app/deployments/$deploymentId')

/** Opens the dialog that shares a deployment or stops that. */
export function ShareButton({ deployment }: { deployment: Deployment }) {
  const { share } = route.useSearch()
  const navigate = route.useNavigate()
  const ask = (open: boolean) =>
    void navigate({
      search: (previous) => ({ ...previous, share: open ? 'yes' : undefined }),
      replace: true,
    })
  return (
    <>
      <Button onClick={() => ask(true)}>
        <Users aria-hidden />
        {deployment.shared_with === null ? words.share : words.stop}
      </Button>
      <Suspense>
        <ShareDialog deployment={deployment} open={share === 'yes'} onOpenChange={ask} />
      </Suspense>
    </>
  )
}
