// Every kill point of the program (STRATA_CRASH_AT, src/io/kill_point.h), by the work that passes
// it; in each list in the order in which they are reached. crash.test.mjs compares them with the
// source.

/// Publish, the winner of an id: nothing is there after the first two, all of it after the others.
export const kBeforeClaim = ['publish:after_write', 'publish:after_sync'];
export const kFromClaim = ['publish:after_claim', 'publish:after_shard_sync',
                           'publish:after_rename', 'publish:after_identity',
                           'publish:after_data_sync'];
/// Publish, of an id that somebody has: a replay, and the loser of a race.
export const kReplay = ['publish_loser:after_shard_sync', 'publish_loser:after_rename',
                        'publish_loser:after_identity', 'publish_loser:after_data_sync'];
export const kRace = ['publish_loser:after_claim'];
/// A process that settles what an ended one left.
export const kFinisher = ['publish_finisher:after_shard_sync', 'publish_finisher:after_rename',
                          'publish_finisher:after_identity', 'publish_finisher:after_data_sync'];
export const kRecount = ['numbers:after_sync', 'numbers:after_rename', 'numbers:after_recount'];
export const kRecovery = [...kFinisher, 'recovery:after_files', ...kRecount,
                          'recovery:after_settled'];

/// A landing with a new column.
export const kAnchor = ['anchor:after_sync', 'anchor:after_rename'];
export const kRegistry = ['registry:after_sync', 'registry:after_claim', 'registry:after_publish',
                          ...kAnchor, 'registry:after_anchor'];

/// The numbers of a living process, once a second.
export const kCheckpoint = ['numbers:after_sync', 'numbers:after_rename',
                            'numbers:after_checkpoint'];

/// The making of a receiver: it is there from its claim on.
export const kReceiverBeforeClaim = ['receiver:after_sync'];
export const kReceiverFromClaim = ['receiver:after_claim', 'receiver:after_publish'];

/// The view's job.
export const kViewBeforeClaim = ['generation:after_copy', 'generation:after_ddl',
                                 'generation:after_sync'];
export const kViewFromClaim = ['generation:after_claim'];
/// Also passed when a kb is opened, which finishes what a killed process may have begun.
export const kViewFinish = ['generation:after_directory_sync', 'generation:after_symlink',
                            'generation:after_kb_sync'];
export const kView = [...kViewBeforeClaim, ...kViewFromClaim, ...kViewFinish];
export const kCollect = ['generation:after_tombstone'];

/// A delete: the stream is in its place before its move, aside after it. receivers.test.mjs dies at
/// each.
export const kDeleteBeforeMove = ['delete:after_row'];
export const kDeleteFromMove = ['delete:after_move', 'delete:after_sync', 'delete:after_view'];
export const kDeleteKb = ['delete:after_kb_move'];

/// What `verify --quarantine` does to a stream's folder. verify.test.mjs dies at each, as often as
/// it is reached.
export const kQuarantine = ['quarantine:after_move', 'quarantine:after_sync',
                            'quarantine:after_link', 'quarantine:after_exchange',
                            'verify:after_claim', 'verify:before_recount'];

/// A catalog's move to PostgreSQL: it has not begun, it is under way, it has moved.
/// migrate.test.mjs dies at each.
export const kMigrateOnFile = ['migrate:after_begin_sync'];
export const kMigrateMoving = ['migrate:after_begin_name', 'migrate:after_begin',
                               'migrate:after_copy', 'migrate:after_compare',
                               'migrate:after_switch_sync'];
export const kMigrateMoved = ['migrate:after_switch_name', 'migrate:after_switch',
                              'migrate:after_rebuild', 'migrate:after_root_row',
                              'migrate:after_aside'];

/// An application of ontology, by the step that passes them: before the views of its version are
/// there, and after. ontology_kills.test.mjs dies at each, and loses PostgreSQL at each.
export const kOntologyBefore = {
  Snapshot: ['ontology:after_freeze'],
  Profile: ['ontology:after_snapshot', 'ontology:after_profile'],
  Synthesise: ['ontology:after_synthesis'],
  Views: ['ontology:after_tables', 'ontology:after_pending'],
};
export const kOntologyAfter = { Views: ['ontology:after_publish', 'ontology:after_activate'] };
/// With other rows and the same model.
export const kOntologyRefresh = ['ontology:after_refresh'];

export const kAll = [...new Set([
  ...kBeforeClaim, ...kFromClaim, ...kReplay, ...kRace, ...kRecovery, ...kRegistry, ...kCheckpoint,
  ...kReceiverBeforeClaim, ...kReceiverFromClaim, ...kView, ...kCollect,
  ...kDeleteBeforeMove, ...kDeleteFromMove, ...kDeleteKb, ...kQuarantine,
  ...kMigrateOnFile, ...kMigrateMoving, ...kMigrateMoved,
  ...Object.values(kOntologyBefore).flat(), ...kOntologyAfter.Views, ...kOntologyRefresh,
])];
