import { Command as Palette } from 'cmdk'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import type { Command } from '../components/command.ts'
import { text } from '../text/index.ts'
import { searchCommands } from './search-commands.ts'
import { useShellCommands } from './shell-commands.ts'

const words = text.shell

interface CommandDialogProps {
  /** Commands of the features; the shell adds its own. */
  commands: readonly Command[]
  onClose: () => void
}

/** The command palette: finds pages, settings, people, deployments, models and actions. */
export function CommandDialog({ commands, onClose }: CommandDialogProps) {
  const [query, setQuery] = useState('')
  const groups = searchCommands([...useShellCommands(), ...commands], query)
  // cmdk keeps the first order of groups unless the best match changes their keys. New keys make new
  // elements, which cmdk announces to assistive technology only if the selected value changes too.
  const order = groups[0]?.group
  const run = (command: Command) => () => {
    onClose()
    void command.run()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-xl border bg-raised shadow-2xl focus:outline-none"
        >
          <Dialog.Title className="sr-only">{words.commands}</Dialog.Title>
          <Palette label={words.commands} loop shouldFilter={false}>
            <Palette.Input
              value={query}
              onValueChange={setQuery}
              placeholder={words.searchCommands}
              className="h-12 w-full border-b bg-transparent px-4 placeholder:text-muted focus:outline-none"
            />
            <Palette.List className="max-h-[60vh] overflow-y-auto p-2">
              <Palette.Empty className="px-3 py-8 text-center text-muted">{words.noCommand}</Palette.Empty>
              {groups.map(({ group, commands: found }) => (
                <Palette.Group
                  key={`${order} ${group}`}
                  heading={words.commandGroups[group]}
                  className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
                >
                  {found.map((command) => (
                    <Item
                      key={command.id}
                      value={`${order} ${group} ${command.id}`}
                      command={command}
                      onSelect={run(command)}
                    />
                  ))}
                </Palette.Group>
              ))}
            </Palette.List>
          </Palette>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Item({
  value,
  command: { icon: Icon, label, hint },
  onSelect,
}: {
  value: string
  command: Command
  onSelect: () => void
}) {
  return (
    <Palette.Item
      value={value}
      onSelect={onSelect}
      className="flex cursor-default items-center gap-3 rounded-md px-3 py-2 data-[selected=true]:bg-subtle [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted"
    >
      <Icon />
      <span className="min-w-0 truncate">{label}</span>
      {hint && <span className="ml-auto shrink-0 truncate text-xs text-muted">{hint}</span>}
    </Palette.Item>
  )
}
