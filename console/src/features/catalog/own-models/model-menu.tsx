import { EllipsisVertical } from 'lucide-react'
import { Suspense, useState } from 'react'
import type { DeployableModel } from '../../../contract.ts'
import { Button } from '../../../components/button.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'

const EditModelDialog = lazyPart(() =>
  import('./edit-model-dialog.tsx').then((module) => module.EditModelDialog),
)
const DeleteModelDialog = lazyPart(() =>
  import('./delete-model-dialog.tsx').then((module) => module.DeleteModelDialog),
)

/** What an admin can do with a model of the organization. */
export function ModelMenu({ model }: { model: DeployableModel }) {
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null)
  const close = () => setOpen(null)
  return (
    <>
      <Menu
        trigger={
          <Button variant="quiet" aria-label={text.ownModels.actions(model.display_name)}>
            <EllipsisVertical />
          </Button>
        }
      >
        <MenuItem onSelect={() => setOpen('edit')}>{text.ownModels.edit}</MenuItem>
        {/* An endpoint says itself what models it has. */}
        {model.source.kind !== 'endpoint' && (
          <MenuItem dangerous onSelect={() => setOpen('delete')}>
            {text.ownModels.delete}
          </MenuItem>
        )}
      </Menu>
      <Suspense>
        {open === 'edit' && <EditModelDialog model={model} onClose={close} />}
        {open === 'delete' && <DeleteModelDialog model={model} onClose={close} />}
      </Suspense>
    </>
  )
}
