// Seeds with which the simulation has failed. They are simulated in each run of the tests. What
// they found is also tested on its own, because after a change a seed can mean other events.

export interface RecordedSeed {
  readonly seed: number;
  readonly found: string;
}

export const recordedSeeds: readonly RecordedSeed[] = [
  {
    seed: 701851150,
    found:
      "The network repeated a batch that had no place for a receipt. The simulation took it for " +
      "a violation that a later batch, which had one, applied an operation again.",
  },
  {
    seed: 1449,
    found:
      "Inserts were sent again. Operations on another entity, which had cancelled each other out " +
      "and so were never sent, were later reported as lost with an unknown outcome.",
  },
  {
    seed: 3931,
    found:
      "A late try was executed between the reads of two members. One was still at its Base, the " +
      "other was not, so the push was taken for dead and not applied, and its operations were sent " +
      "again.",
  },
  {
    seed: 5514,
    found:
      "At rest, rows became visible later than δ, which the overlap of scans is derived from. A " +
      "fault of the simulation.",
  },
  {
    seed: 5714,
    found:
      "The network repeated a batch. Another client changed both of its entities between the reads " +
      "of the two: the first was taken for equal, and only the second was sent again.",
  },
  {
    seed: 710075348,
    found:
      "A late copy of the batch that had created the receipt was executed after the table was " +
      "deleted and created again: the receipt was absent once more.",
  },
  {
    seed: 718067831,
    found:
      "A store was restored from a copy, and sent inserts again that the remote had. One was taken " +
      "for equal, the other was kept because another client had added a property. When others had " +
      "changed both entities, the next conflict wrote the old value to one of them.",
  },
  {
    seed: 471,
    found:
      "A user undid a write to two entities, of which only one had something else to send. Another " +
      "client changed both, and the conflict wrote the old value to this one only.",
  },
  {
    seed: 730580786,
    found:
      "A proxy refused larger batches without an answer of the service, so each of 30 was decided " +
      "only after the time in which it could still be executed: longer than the simulation waited.",
  },
  {
    seed: 735451247,
    found:
      "A feed brought the delete of an entity that was to be created, which the store took for " +
      "known. A read of the push that had been sent before then showed the deleted entity.",
  },
  {
    seed: 737551696,
    found:
      "A comparison of versions that had begun before a gap in the feed continued after it, and " +
      "counted for the keys before its position, too.",
  },
  {
    seed: 739233724,
    found:
      "A user wrote two entities and undid it. Others had changed one of them, so that only its " +
      "operations were dropped; a proxy then limited the push to the first write, which was sent " +
      "to the other entity alone.",
  },
  {
    seed: 746037459,
    found:
      "A feed brought the delete of an entity that the store did not have. A request that read the " +
      "marked key had been sent before, and then brought the entity.",
  },
  {
    seed: 1032731,
    found:
      "A comparison of versions did not return an entity that others had deleted. It was dirty when " +
      "the request was sent, and clean again when the answer came, so it was passed over.",
  },
  {
    seed: 1382,
    found:
      "A store had seen a half of a transaction of others. It wrote both entities and deleted them " +
      "again, so that the one that it had created was left out of the push, which deleted the other.",
  },
  {
    seed: 18552,
    found:
      "A refused push had created two entities before an older copy of the store was restored. " +
      "Others deleted them between the two reads, so that only one was created again.",
  },
  {
    seed: 1636,
    found:
      "A connection to the feed was opened while the credential showed fewer keys. It stayed open " +
      "when requests had another credential, and did not bring the changes of the other keys.",
  },
  {
    seed: 4561,
    found:
      "The same as seed 1636, with a filter, and a store that does not have all parts in memory.",
  },
  {
    seed: 5020442,
    found:
      "A first scan had ended without a known server time, so the next one read everything again. " +
      "The remote evaluated the filter, and a row that had left it meanwhile stayed.",
  },
  {
    seed: 784552884,
    found:
      "A feed told that an entity was deleted, and the store did not have it. Then an older page of " +
      "a scan brought the entity back.",
  },
  {
    seed: 793508659,
    found:
      "An insert was applied, and a copy of the store from before it was restored, which deleted " +
      "the entity. Then another copy of the request arrived. No store can know of it.",
  },
  {
    seed: 3500005205,
    found:
      "In Azurite, others changed an entity in the millisecond in which a push had created it, so " +
      "both versions had the same ETag. No store can know of it if its scans overlap too little.",
  },
];
