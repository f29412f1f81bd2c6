import { Link } from '@tanstack/react-router'
import { EllipsisVertical, MessagesSquare, SquareArrowOutUpRight, Trash2 } from 'lucide-react'
import { Suspense, useLayoutEffect, useRef, useState } from 'react'
import type { Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { nameDeployment } from '../../domain/deployments/names.ts'
import { answersRequests, isEnding } from '../../domain/deployments/status.ts'
import { useAccess } from '../../domain/deployments/use-access.ts'
import { nameTermination } from './name-termination.ts'

const words = text.deployments

const ChangeItems = lazyPart(() => import('./change-items.tsx').then((module) => module.ChangeItems))
const TerminateDialog = lazyPart(() =>
  import('./terminate-dialog.tsx').then((module) => module.TerminateDialog),
)

/** The actions of a deployment in the list. */
export function RowMenu({ deployment, idSuffix }: { deployment: Deployment; idSuffix: string }) {
  const access = useAccess(deployment)
  const button = useRef<HTMLButtonElement>(null)
  const wantsDialog = useRef(false)
  // Null until the dialog first opens, so that its code is loaded only then.
  const [asking, setAsking] = useState<boolean | null>(null)
  const { id } = deployment
  // Move the focus to the main content if this row is removed while its button is focused.
  useLayoutEffect(() => {
    const held = button.current
    return () => {
      if (held !== null && document.activeElement === held) document.getElementById('content')?.focus()
    }
  }, [])
  return (
    <>
      <Menu
        trigger={
          <Button
            ref={button}
            variant="quiet"
            size="tiny"
            className="relative"
            aria-label={words.actionsFor(`${nameDeployment(deployment)} ${idSuffix}`.trim())}
            // The closing menu focuses this button. Open the dialog later, so it returns the focus here.
            onFocus={() => {
              if (wantsDialog.current) setAsking(true)
              wantsDialog.current = false
            }}
          >
            <EllipsisVertical />
          </Button>
        }
      >
        <MenuItem asChild>
          <Link to="/deployments/$deploymentId" params={{ deploymentId: id }}>
            <SquareArrowOutUpRight aria-hidden />
            {words.open}
          </Link>
        </MenuItem>
        {access.call && answersRequests(deployment) && (
          <MenuItem asChild>
            <Link to="/playground" search={{ deployment: id }}>
              <MessagesSquare aria-hidden />
              {words.openInPlayground}
            </Link>
          </MenuItem>
        )}
        {access.change && <ChangeItems deployment={deployment} />}
        {access.terminate && !isEnding(deployment) && (
          <MenuItem dangerous onSelect={() => (wantsDialog.current = true)}>
            <Trash2 aria-hidden />
            {nameTermination(deployment)}
          </MenuItem>
        )}
      </Menu>
      {asking !== null && (
        <Suspense>
          <TerminateDialog deployment={deployment} open={asking} onOpenChange={setAsking} />
        </Suspense>
      )}
    </>
  )
}
