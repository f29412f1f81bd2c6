import { Link } from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { text } from '../text/index.ts'
import { Button } from './button.tsx'
import { useDocumentTitle } from './page.tsx'
import { EmptyState } from './states.tsx'

/** Shown for an unknown URL. */
export function NotFoundPage() {
  useDocumentTitle(text.errors.notFoundTitle)
  return (
    <div className="grid min-h-[60dvh] place-items-center">
      <EmptyState
        icon={<Compass />}
        heading="h1"
        title={text.errors.notFoundTitle}
        action={
          <Button asChild>
            <Link to="/deployments">{text.errors.toDeployments}</Link>
          </Button>
        }
      >
        {text.errors.notFound}
      </EmptyState>
    </div>
  )
}
