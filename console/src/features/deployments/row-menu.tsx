import { Link } from '@tanstack/react-router'
import { Ellipsis, MessagesSquare, SquareArrowOutUpRight, Trash2 } from 'lucide-react'
import { useRef, useState } from 'react'
import type { Deployment } from '../../../../server/src/contract.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { text } from '../../text/index.ts'
import { isEnding } from './status.ts'
import { TerminateDialog } from './terminate-dialog.tsx'

const words = text.deployments

/** What can be done with a deployment of the list. */
export function RowMenu({ deployment }: { deployment: Deployment }) {
  const can = useCan()
  const trigger = useRef<HTMLButtonElement>(null)
  const [asking, setAsking] = useState(false)
  const { id, model_name, status } = deployment
  return (
    <>
      <Menu
        trigger={
          <Button
            ref={trigger}
            look="quiet"
            size="tiny"
            className="relative"
            aria-label={words.actionsFor(model_name)}
          >
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem asChild>
          <Link to="/deployments/$deploymentId" params={{ deploymentId: id }}>
            <SquareArrowOutUpRight aria-hidden />
            {words.open}
          </Link>
        </MenuItem>
        {status === 'running' && can('useOwnDeployments') && (
          <MenuItem asChild>
            <Link to="/playground" search={{ deployment: id }}>
              <MessagesSquare aria-hidden />
              {words.openInPlayground}
            </Link>
          </MenuItem>
        )}
        {can('terminateOwnDeployments') && !isEnding(deployment) && (
          <MenuItem dangerous onSelect={() => setAsking(true)}>
            <Trash2 aria-hidden />
            {status === 'failed' ? words.remove : words.terminate}
          </MenuItem>
        )}
      </Menu>
      <TerminateDialog
        deployment={deployment}
        open={asking}
        onOpenChange={(open) => {
          setAsking(open)
          if (!open) requestAnimationFrame(() => trigger.current?.focus())
        }}
      />
    </>
  )
}
