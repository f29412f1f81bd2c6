import { useNavigate } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { text } from '../../text/index.ts'
import type { DeployDialogProps } from '../deployments/deploy-dialog.tsx'
import { useDeploy } from './queries.ts'

/** The content of DeployDialog. */
export function DeployForm({ onOpenChange, model, initial }: Omit<DeployDialogProps, 'open'>) {
  const deploy = useDeploy()
  const navigate = useNavigate()
  const submit = () =>
    deploy.mutate(
      { model_name: model.model_name, ...initial },
      {
        onSuccess: ({ id }) => {
          onOpenChange(false)
          void navigate({ to: '/deployments/$deploymentId', params: { deploymentId: id } })
        },
      },
    )
  return (
    <Dialog
      open
      onOpenChange={onOpenChange}
      title={text.catalog.deployTitle(model.display_name)}
      actions={
        <Button look="primary" busy={deploy.isPending} onClick={submit}>
          {text.catalog.deploy}
        </Button>
      }
    >
      {null}
    </Dialog>
  )
}
