import { Link, useMatch, useRouter } from '@tanstack/react-router'
import type { ErrorComponentProps } from '@tanstack/react-router'
import { ApiError } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { ErrorState } from '../components/states.tsx'
import { text } from '../text/index.ts'

/** Shown when a page's code or first data fails to load. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const { routeId } = useMatch({ strict: false })
  // The shell already has the <main> element of its pages.
  const Frame = routeId.startsWith('/app/') ? 'div' : 'main'
  return (
    <Frame className="grid min-h-[60dvh] place-items-center">
      <ErrorState
        error={error}
        onRetry={() => {
          // A failed import needs a reload: the server may have a newer console without the old files.
          if (!(error instanceof ApiError)) return window.location.reload()
          reset()
          void router.invalidate()
        }}
        wayBack={
          <Button asChild>
            <Link to="/deployments">{text.errors.toDeployments}</Link>
          </Button>
        }
      />
    </Frame>
  )
}
