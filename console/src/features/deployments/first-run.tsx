import { Link } from '@tanstack/react-router'
import { Boxes, Rocket } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { text } from '../../text/index.ts'
import { useStarterModel } from './starter-model.ts'
import { DeployDialog } from '../../domain/deploy/deploy-dialog.tsx'

const words = text.deployments

/** Replaces the list before the first deployment: suggests a small model and links to the catalog. */
export function FirstRun() {
  const can = useCan()
  const mayDeploy = can('createDeployments')
  const starter = useStarterModel()
  const [open, setOpen] = useState(false)
  return (
    <EmptyState
      icon={<Boxes />}
      title={mayDeploy ? words.firstRunTitle : words.firstRunViewerTitle}
      action={
        <div className="mt-2 flex flex-wrap justify-center gap-2">
          {mayDeploy && (
            <Button variant="primary" disabled={!starter} onClick={() => setOpen(true)}>
              <Rocket aria-hidden />
              {starter ? words.deployStarter(starter.model.display_name) : words.deployAny}
            </Button>
          )}
          <Button asChild>
            <Link to="/catalog">{words.browseCatalog}</Link>
          </Button>
          {starter && <DeployDialog open={open} onOpenChange={setOpen} {...starter} />}
        </div>
      }
    >
      {mayDeploy ? words.firstRun : words.firstRunViewer}
    </EmptyState>
  )
}
